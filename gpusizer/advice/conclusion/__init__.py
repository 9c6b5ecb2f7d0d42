"""Conclusions: the answer to each kind of question in a sentence or two, and its reasons."""
