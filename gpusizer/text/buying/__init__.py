"""Reasons, purposes and filters: the words of choosing a GPU."""
