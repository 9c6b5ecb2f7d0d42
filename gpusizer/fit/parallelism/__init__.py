"""Ways to run a model on one kind of GPU, under the constraints of real machines."""
