"""Answers as HTML: pure functions that format and escape, and compute nothing."""
