"""Joins the shell with the reader of checkpoints on this machine."""

from scrapers.local_checkpoint import with_local_checkpoints

__all__ = ["with_local_checkpoints"]
