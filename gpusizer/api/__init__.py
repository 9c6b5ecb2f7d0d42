"""Answers as programs read them: a pydantic model for each object, with meanings of its fields."""
