"""BodyBudget: how many bytes of requests' bodies this process holds, in all and of one visitor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

ALL_BYTES = 32_000_000
VISITORS_BYTES = 16_000_000
"""Two of the longest logs."""


class BodyBudget:
    """Counts bytes of bodies that are being received or answered. Used by one event loop.

    `held_bytes` are those that wait elsewhere for their answer.
    """

    def __init__(self, held_bytes: Callable[[], int] = lambda: 0) -> None:
        self._held_bytes = held_bytes
        self._by_visitor = Counter[str]()

    def take(self, visitor: str, size: int) -> bool:
        """Count `size` bytes more of a visitor's; False, and count none, if they are too many."""
        if self._by_visitor[visitor] + size > VISITORS_BYTES:
            return False
        if self._by_visitor.total() + self._held_bytes() + size > ALL_BYTES:
            return False
        self._by_visitor[visitor] += size
        return True

    def give_back(self, visitor: str, size: int) -> None:
        """Count `size` bytes less of a visitor's."""
        self._by_visitor[visitor] -= size
        if self._by_visitor[visitor] <= 0:
            del self._by_visitor[visitor]
