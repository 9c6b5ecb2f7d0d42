"""The server: routes beside Gradio's, limits, health, and what is logged and counted."""
