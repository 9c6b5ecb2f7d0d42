"""Statements about hardware in a model card, parsed from its README."""
