"""Bisection over whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def largest_holding(holds: Callable[[int], bool], limit: int) -> int:
    """The largest number up to `limit` that holds, 0 when 1 does not.

    Found by bisection: the result holds and the next number does not, also where `holds` is not
    monotone.

    >>> largest_holding(lambda n: n * n <= 50, 100)
    7
    """
    if limit < 1 or holds(limit):
        return max(limit, 0)
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
