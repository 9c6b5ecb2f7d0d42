"""Weights, caches and buffers in bytes: a profile and a workload as each engine holds them."""
