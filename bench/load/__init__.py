"""Load tests: many visitors, a failing Hub, a failing server."""
