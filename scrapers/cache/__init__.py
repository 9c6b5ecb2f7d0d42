"""What was read, kept in memory, on a disk or in a Redis, and read once for all who ask."""
