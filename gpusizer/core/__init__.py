"""Base of all packages: errors, messages, units, dtypes, settings, checked fields."""
