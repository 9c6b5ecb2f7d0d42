"""Requests: a pydantic model each, and the resolution of their fields for a model."""
