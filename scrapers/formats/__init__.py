"""Formats: parsers of headers, indexes and file names of weights, within bounds. Pure."""
