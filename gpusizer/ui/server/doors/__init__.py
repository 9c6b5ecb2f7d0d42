"""Doors: middleware that every request passes before Gradio, and its refusals."""
