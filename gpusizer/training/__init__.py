"""Training: memory, time and money of fine-tuning. Loaded only when it is asked for."""
