"""Measures models of real configurations on a device, for `bench.measure_gpu`."""
