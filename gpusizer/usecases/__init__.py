"""Use cases: requests in, reports out, computed by the rooms below."""
