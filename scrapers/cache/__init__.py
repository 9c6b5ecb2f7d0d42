"""Cache: snapshots in memory, on disk or in Redis; simultaneous requests share one read."""
