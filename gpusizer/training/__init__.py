"""Training: memory, time and money of fine-tuning. Imported on first use."""
