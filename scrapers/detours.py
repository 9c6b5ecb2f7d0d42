"""Detours: which shortcuts of a Hub are open. Mirrors have fewer, and the Hub's may close."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

Shortcut = Literal["headers", "cached_file"]
"""All headers of a model in one answer; a small file without its redirect."""


class Detours:
    """Remembers for a while that a shortcut was refused, so that nobody pays for it again.

    Safe to share between threads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._closed_until: dict[Shortcut, float] = {}
        self._lock = threading.Lock()

    def is_open(self, shortcut: Shortcut) -> bool:
        """Whether the shortcut is worth trying."""
        with self._lock:
            return self._closed_until.get(shortcut, 0.0) <= self._clock()

    def close(self, shortcut: Shortcut, seconds: float) -> None:
        """Go the long way round for the next seconds."""
        with self._lock:
            self._closed_until[shortcut] = self._clock() + seconds
