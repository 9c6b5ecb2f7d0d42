"""What the facts of a repository mean: tensors by role, shape of the model, the profile."""
