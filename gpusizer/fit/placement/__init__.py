"""Placement of layers on unlike devices and in system memory, as llama.cpp deals them out."""
