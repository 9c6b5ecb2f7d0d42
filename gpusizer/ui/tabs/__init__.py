"""The page's tabs, one builder each."""
