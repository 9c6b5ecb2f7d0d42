"""Converters of collected logs to rows of `data/measurements`."""
