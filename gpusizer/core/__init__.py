"""What every room stands on: errors, messages, units, dtypes, settings, checked fields."""
