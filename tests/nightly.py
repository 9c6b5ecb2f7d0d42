"""Extent of the suite by day, when it gates a change, and at night."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import cycle, islice, product
from typing import TypeVar

NIGHTLY = os.environ.get("GPUSIZER_NIGHTLY") == "1"  #

_Case = TypeVar("_Case")
_Other = TypeVar("_Other")


def some(cases: Sequence[_Case], *, of: int, start: int = 0) -> Sequence[_Case]:
    """Return all cases at night, by day one of `of` from `start` on.

    Runs with other starts take the others.
    """
    return cases if NIGHTLY else cases[start % of :: of]


def paired(first: Iterable[_Case], second: Iterable[_Other]) -> list[tuple[_Case, _Other]]:
    """Every pair at night, by day as many as each case of either needs to come once."""
    left, right = [*first], [*second]
    count = max(len(left), len(right))
    by_day = zip(islice(cycle(left), count), islice(cycle(right), count), strict=True)
    return [*product(left, right)] if NIGHTLY else [*by_day]
