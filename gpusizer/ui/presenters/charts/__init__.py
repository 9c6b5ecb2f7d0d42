"""Pictures as escaped SVG or as frames for Gradio's plots, each with its numbers as a table."""
