"""Words of the web page. What the core says itself (errors, notes) is one folder up."""
