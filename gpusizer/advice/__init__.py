"""What follows from a ranking: its order for a reader, what is recommended, and what would help."""
