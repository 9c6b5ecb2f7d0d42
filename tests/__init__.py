"""Tests of gpusizer."""
