"""Advice: orders of a ranking, the recommendation, alternatives, and changes that would help."""
