"""gpusizer: which GPUs run a Hugging Face model, how fast, for how much, and why."""

from __future__ import annotations

__version__ = "0.1.0"
