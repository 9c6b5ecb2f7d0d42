"""Where models and GPUs meet: whether one fits the other, how fast, and what would help."""
