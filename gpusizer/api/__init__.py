"""Answers as programs read them: a pydantic model for each object, with what its fields mean."""
