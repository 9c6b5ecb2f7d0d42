"""gpusizer: which GPUs run a Hugging Face model, how fast, for how much, and why."""

__version__ = "0.1.0"
