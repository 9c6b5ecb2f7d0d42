"""Bisection over whole numbers."""

from __future__ import annotations

from collections.abc import Callable

_WIDER = 4


def largest_holding(holds: Callable[[int], bool], limit: int, near: int | None = None) -> int:
    """Return the largest number up to `limit` that holds, 0 if 1 does not.

    >>> largest_holding(lambda n: n * n <= 50, 100)
    7
    >>> largest_holding(lambda n: n * n <= 50, 100, near=9)
    7
    """
    # The result holds and the next number does not, even if `holds` is not monotone. A number
    # `near` the result saves most calls: steps away from it widen until the result is between two
    # of them.
    if limit < 1:
        return 0
    low, high = 0, limit + 1
    tried, step = min(max(1, limit if near is None else near), limit), 1
    while high - low > 1:
        if holds(tried):
            low = tried
        else:
            high = tried
        is_between = near is None or (low > 0 and high <= limit)
        if is_between or high == 1 or low == limit:
            tried = (low + high) // 2
        else:
            tried = min(limit, low + step) if low else max(1, high - step)
            step *= _WIDER
    return low
