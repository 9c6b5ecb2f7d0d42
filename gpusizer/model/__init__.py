"""Profile of a model: tensors by role, its architecture and how it is stored."""
