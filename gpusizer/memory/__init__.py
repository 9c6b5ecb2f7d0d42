"""Bytes: a profile and a workload become weights, caches and buffers as each engine holds them."""
