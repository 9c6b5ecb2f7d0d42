"""Scales of axes, which start at zero and have ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps a value to its position in the picture: 0 to `start`, `top` to `end`."""

    top: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * value / self.top


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


def ticks(top: float, max_steps: int) -> list[float]:
    """Return round numbers from zero up to `top`, in at most `max_steps` steps.

    >>> ticks(17.7, 5)
    [0.0, 5.0, 10.0, 15.0]
    """
    step = step_for(top, max_steps)
    return [round(step * i, 12) for i in range(math.floor(top / step + 1e-9) + 1)]


def round_up(top: float, max_steps: int) -> float:
    """Return the first tick at or above `top`.

    >>> round_up(17.7, 5)
    20.0
    """
    step = step_for(top, max_steps)
    return round(step * max(1, math.ceil(top / step - 1e-9)), 12)


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
