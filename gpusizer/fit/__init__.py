"""Model on GPU: whether it fits, how fast it runs, and how it could fit better."""
