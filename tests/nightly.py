"""What the suite asks by day, when it gates a change, and what it asks at night."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import cycle, islice, product
from typing import TypeVar

NIGHTLY = os.environ.get("GPUSIZER_NIGHTLY") == "1"
"""Whether this run takes whole matrices and new random examples."""

_Case = TypeVar("_Case")
_Other = TypeVar("_Other")


def some(cases: Sequence[_Case], *, of: int, start: int = 0) -> Sequence[_Case]:
    """All cases at night, by day one of so many from `start` on, so that runs with other starts
    take the others."""
    return cases if NIGHTLY else cases[start % of :: of]


def paired(first: Iterable[_Case], second: Iterable[_Other]) -> list[tuple[_Case, _Other]]:
    """Every pair at night, by day as many as each case of either needs to come once."""
    left, right = [*first], [*second]
    count = max(len(left), len(right))
    by_day = zip(islice(cycle(left), count), islice(cycle(right), count), strict=True)
    return [*product(left, right)] if NIGHTLY else [*by_day]
