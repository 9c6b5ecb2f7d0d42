"""Pictures as SVG: figures in, escaped markup out, every number also in a table below."""
