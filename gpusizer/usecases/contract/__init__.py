"""The contract by type: what every answer holds, for those who write it and those who read it."""
