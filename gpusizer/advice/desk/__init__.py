"""Several models on one machine: what each may take, who lives where, what lets all stay."""
