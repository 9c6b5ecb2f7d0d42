"""Statements of a model card about hardware, compared with estimates."""
