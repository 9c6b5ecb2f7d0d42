"""The page: its state, its forms, its listeners, and its tabs."""
