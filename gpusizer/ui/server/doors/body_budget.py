"""BodyBudget: limit of the bytes of request bodies in this process, in all and by visitor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

ALL_BYTES = 32_000_000
VISITORS_BYTES = 16_000_000  # two of the longest logs


class BodyBudget:
    """Counts bytes of bodies that are being received or answered. Used by one event loop.

    `held_bytes` returns the bytes of bodies that wait elsewhere for their answer.
    """

    def __init__(self, held_bytes: Callable[[], int] = lambda: 0) -> None:
        self._held_bytes = held_bytes
        self._by_visitor = Counter[str]()

    def take(self, visitor: str, size: int) -> bool:
        """Count `size` more bytes of a visitor; return False without counting if too many."""
        if self._by_visitor[visitor] + size > VISITORS_BYTES:
            return False
        if self._by_visitor.total() + self._held_bytes() + size > ALL_BYTES:
            return False
        self._by_visitor[visitor] += size
        return True

    def give_back(self, visitor: str, size: int) -> None:
        """Count `size` fewer bytes of a visitor."""
        self._by_visitor[visitor] -= size
        if self._by_visitor[visitor] <= 0:
            del self._by_visitor[visitor]
