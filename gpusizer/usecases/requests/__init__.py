"""Requests: a pydantic model each, and what their fields resolve to for a model."""
