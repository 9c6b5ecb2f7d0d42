"""Lines of cards that stand side by side: by name, in one order, a dash where a card has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.prices import Spec

_Place = tuple[str, int]
"""A line's name, and how often it stood before in its card: prices in further conditions share one
name."""


def aligned(cards: Sequence[Sequence[Spec]]) -> list[list[Spec]]:
    """The lines of every card, each with all names that some card has, in the cards' own order.

    A name that only a later card has comes before the next one that it shares with the others.
    """
    by_place = [dict(_places(lines)) for lines in cards]
    order: list[_Place] = []
    for lines in by_place:
        before = len(order)
        for place in reversed(lines):
            if place not in order:
                order.insert(before, place)
            before = order.index(place)
    return [[lines.get(place, (place[0], DASH, None)) for place in order] for lines in by_place]


def _places(lines: Sequence[Spec]) -> Iterator[tuple[_Place, Spec]]:
    seen: dict[str, int] = {}
    for line in lines:
        seen[line[0]] = seen.get(line[0], 0) + 1
        yield (line[0], seen[line[0]]), line
