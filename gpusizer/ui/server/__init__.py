"""The server: routes next to Gradio's, limits, health, logs and metrics."""
