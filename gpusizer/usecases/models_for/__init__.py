"""Which models a GPU or a machine runs."""
