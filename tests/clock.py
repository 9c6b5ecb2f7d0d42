"""Clock: a time that a test sets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """Returns `now`, in seconds, until a test moves it on."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now
