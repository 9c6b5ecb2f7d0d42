"""What the author of a model says about hardware, beside what is computed."""
