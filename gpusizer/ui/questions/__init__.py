"""What every door shares: endpoints by name, the cache of answers, what is counted."""
