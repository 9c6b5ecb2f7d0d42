"""A model card becomes statements of its author."""
