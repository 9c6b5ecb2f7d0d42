"""Conclusions: the answer to each kind of question in a sentence or two, and what was weighed."""
