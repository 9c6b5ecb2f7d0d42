"""A soak: visitors of all doors, honest and rude, at one server for long."""
