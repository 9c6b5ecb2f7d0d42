"""Speeds measured on this machine, beside the predictions for the same runs."""
