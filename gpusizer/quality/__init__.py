"""Quality: the loss of a quantization."""
