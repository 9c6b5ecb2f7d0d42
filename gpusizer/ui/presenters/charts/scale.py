"""Scales of axes: where they end, their ticks, and places of labels that do not touch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_OF_A_DECADE = (1.0, 2.0, 5.0)
_MANY_TICKS = 8


def step_for(top: float, max_steps: int) -> float:
    """Return the smallest round step that reaches `top` in at most `max_steps` steps.

    >>> step_for(17.7, 5), step_for(131072, 4), step_for(0.9, 5)
    (5.0, 50000.0, 0.2)
    """
    if top <= 0:
        return 1.0
    size: float = 10.0 ** math.floor(math.log10(top / max_steps))
    return next(
        step
        for factor in _ROUND
        if (step := round(factor * size, 12)) * max_steps >= top * (1 - 1e-9)
    )


def ticks(top: float, max_steps: int) -> tuple[float, ...]:
    """Return round numbers from zero to the first at or above `top`, in few steps.

    >>> ticks(17.7, 5)
    (0.0, 5.0, 10.0, 15.0, 20.0)
    """
    step = step_for(top, max_steps)
    steps = max(1, math.ceil(top / step - 1e-9))
    return tuple(round(step * i, 12) for i in range(steps + 1))


def log_ticks(least: float, most: float) -> tuple[float, ...]:
    """Return 1, 2 and 5 of each decade, or the decades where these are many, that enclose a range.

    >>> log_ticks(1, 71), log_ticks(0.3, 90_000)
    ((1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0), (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0))
    """
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    for steps in (_OF_A_DECADE, _OF_A_DECADE[:1]):
        every = [round(step * 10.0**decade, 12) for decade in decades for step in steps]
        low = max((tick for tick in every if tick <= least * (1 + 1e-9)), default=every[0])
        high = min((tick for tick in every if tick >= most * (1 - 1e-9)), default=every[-1])
        if low == high:  # an axis has two ends
            high = next(tick for tick in (*every, 10 * low) if tick > low)
        shown = tuple(tick for tick in (*every, high) if low <= tick <= high)
        shown = tuple(dict.fromkeys(shown))
        if len(shown) <= _MANY_TICKS:
            break
    return shown


def spans_decades(values: Iterable[float], times: float = 20.0) -> bool:
    """Whether the largest of some positive values is at least `times` the smallest."""
    known = list(values)
    return min(known) > 0 and max(known) >= times * min(known)


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move places apart, in order, so that neighbours are at least `gap` from each other.

    >>> spread([10, 12, 40], 16, 0, 100)
    [10, 26, 42]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    floor = low
    for i in order:
        moved[i] = max(moved[i], floor)
        floor = moved[i] + gap
    ceiling = high
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved
