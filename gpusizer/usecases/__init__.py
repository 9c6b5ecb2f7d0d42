"""The questions people ask, each answered from the rooms below: requests in, reports out."""
