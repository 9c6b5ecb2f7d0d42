"""Tests of one module each, without the network."""
