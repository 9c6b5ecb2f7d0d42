"""Converters from collected logs to the rows of `data/measurements`."""
