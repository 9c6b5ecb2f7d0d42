"""What a process that answers questions sets before it starts."""

from __future__ import annotations

import gc

# A model of 92,000 tensors is read without leaving a cycle: looking for some takes a tenth.
_COLLECT_EVERY = 200_000


def collect_rarely() -> None:
    """Let Python look for cycles after many new objects only."""
    gc.set_threshold(_COLLECT_EVERY)
