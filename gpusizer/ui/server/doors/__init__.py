"""Doors: middleware that every request passes before Gradio, and what it refuses there."""
