"""Models that a GPU or a machine runs."""
