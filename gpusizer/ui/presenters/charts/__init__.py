"""Plots that Gradio draws from Vega-Lite specifications, each with its numbers as a table."""
