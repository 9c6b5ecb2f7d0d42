"""Logs of engines at start-up and under measurement, and the errors of predictions."""
