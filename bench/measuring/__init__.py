"""Measuring models of real configurations on a device: what `bench.measure_gpu` is made of."""
