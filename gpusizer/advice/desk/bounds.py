"""Relaxed: a lower bound of what the options of some models cost, by linear programming.

All devices count as one, and options may be divided: then the cheapest byte is saved first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

from gpusizer.advice.desk.rooms import IMPOSSIBLE, PlaceOption


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Least cost of some models, as if all devices were one and options could be divided.

    Attributes:
        cost, size: of all in their cheapest option.
        savings: bytes that smaller options save together, the cheapest byte first.
        added: what these add to the cost.
    """

    cost: int
    size: int
    savings: list[int]
    added: list[float]

    @classmethod
    def from_models(cls, models: Sequence[Sequence[PlaceOption]]) -> Relaxed:
        hulls = [_hull(options) for options in models]
        steps = [
            ((cost - cheaper) / (larger - size), larger - size, cost - cheaper)
            for hull in hulls
            for (larger, cheaper), (size, cost) in pairwise(hull)
        ]
        steps.sort()
        return cls(
            cost=sum(hull[0][1] for hull in hulls),
            size=sum(hull[0][0] for hull in hulls),
            savings=[*accumulate((saved for _, saved, _ in steps), initial=0)],
            added=[*accumulate((float(cost) for _, _, cost in steps), initial=0.0)],
        )

    def least_cost(self, left_bytes: int) -> int:
        """Return the bound where `left_bytes` are left."""
        missing = self.size - left_bytes
        if missing <= 0:
            return self.cost
        if missing > self.savings[-1]:
            return IMPOSSIBLE
        last = bisect_left(self.savings, missing)
        before, after = self.savings[last - 1], self.savings[last]
        part = (missing - before) / (after - before)
        added = self.added[last - 1] + part * (self.added[last] - self.added[last - 1])
        return ceil(self.cost + added - 1e-3)


def _hull(options: Sequence[PlaceOption]) -> list[tuple[int, int]]:
    # Bytes and cost of the options on the lower convex hull, from the cheapest to the smallest.
    points = sorted((option.total_bytes, option.cost) for option in options)
    hull: list[tuple[int, int]] = []
    for size, cost in points:
        if hull and cost >= hull[-1][1]:
            continue
        if hull and size == hull[-1][0]:
            hull.pop()
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], (size, cost)):
            hull.pop()
        hull.append((size, cost))
    return hull[::-1]


def _is_above(first: tuple[int, int], point: tuple[int, int], last: tuple[int, int]) -> bool:
    # Whether a point is on or above the line between two others.
    (x0, y0), (x, y), (x1, y1) = first, point, last
    return (y - y0) * (x1 - x0) >= (y1 - y0) * (x - x0)
