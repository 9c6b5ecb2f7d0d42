"""Pieces that every presenter writes with: HTML, numbers, words, tables and marks."""
