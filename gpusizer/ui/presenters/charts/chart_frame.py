"""The frame of a picture: its title, legend and key, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase

from gpusizer.core.units import GIB
from gpusizer.ui.presenters.charts.svg import Draw, filled, hatches
from gpusizer.ui.presenters.pieces.html import Html, bullets, el, fold, join, small
from gpusizer.ui.presenters.pieces.marks import legend
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity

WIDE, NARROW = 560, 340
"""Widths in pixels that pictures are drawn for: half of a desktop's page, and a phone's."""
_NEAREST = 1.6  # the axis extends to a capacity of at most so many times the largest amount


def figure(
    name: str,
    title: str,
    lead: str,
    draw: Draw,
    legend: Html | None,
    key: Html | None,
    numbers: Html,
) -> Html:
    """Draw a picture for desktops and for phones; the stylesheet shows one of the two."""
    return el(
        "figure",
        el("figcaption", el("h3", title), el("p", lead, class_="gs-small") if lead else None),
        legend,
        el("div", draw(WIDE, f"gs-{name}-wide"), class_="gs-chart gs-chart-wide"),
        el("div", draw(NARROW, f"gs-{name}-narrow"), class_="gs-chart gs-chart-narrow"),
        key,
        numbers,
        class_="gs-figure",
        id=f"gs-{name}-picture",
    )


def parts_key(name: str, parts: Iterable[tuple[str, int]]) -> Html:
    """Write the key of colours and textures, in the order in which parts are stacked."""
    items = []
    for part, i in parts:
        uid = f"gs-{name}-key-{i}"
        swatch = join((hatches(uid), filled(0, 0, 16, 16, i, uid)))
        sample = el("svg", swatch, viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")
        items.append((sample, part))
    return legend(items)


def letters(capacities: Sequence[Capacity]) -> list[tuple[str, Capacity]]:
    """Give each capacity a letter, smallest first."""
    rising = sorted(capacities, key=lambda capacity: capacity.memory_bytes)
    return list(zip(ascii_uppercase, rising, strict=False))


def top_of(amounts: Iterable[float], capacities: Iterable[Capacity]) -> float:
    """Return the largest amount, or the next capacity above it within `_NEAREST` times."""
    top = max(amounts, default=0) or GIB
    next_capacity = min((c.memory_bytes for c in capacities if c.memory_bytes >= top), default=None)
    return next_capacity if next_capacity is not None and next_capacity <= _NEAREST * top else top


def capacities_key(capacities: Sequence[Capacity], top_bytes: float, words: Words) -> Html | None:
    """Write the key of lettered capacities, and mark those beyond the end of the axis."""
    items = []
    for letter, capacity in letters(capacities):
        beyond = words("pictures.beyond") if capacity.memory_bytes > top_bytes else None
        items.append((letter, capacity_name(capacity, words), beyond))
    return key(items)


def capacity_name(capacity: Capacity, words: Words) -> str:
    """Write a GPU's name and its memory."""
    return f"{capacity.label} · {words.amount(capacity.memory_bytes)}"


def key(items: Sequence[tuple[str, str, str | None]]) -> Html | None:
    """Write a list that explains badges: the badge, its meaning, small print."""
    return bullets(
        (
            join((el("b", name), el("span", meaning, small(f" ({detail})" if detail else None))))
            for name, meaning, detail in items
        ),
        "gs-key",
    )


def numbers_table(
    title: str, columns: Mapping[str, Iterable[str]], words: Words, texts: int = 1
) -> Html:
    """Write the numbers of a picture as a folded table: its cells by their headings, of which the
    first `texts` are of texts."""
    classes = [None if i < texts else "gs-number" for i in range(len(columns))]
    heads = [
        el("th", name, scope="col", class_=class_)
        for name, class_ in zip(columns, classes, strict=True)
    ]
    rows = [
        el("tr", el("th", cells[0], scope="row"), *map(_cell, cells[1:], classes[1:]))
        for cells in zip(*columns.values(), strict=True)
    ]
    table = el(
        "table", el("thead", el("tr", join(heads))), el("tbody", join(rows)), aria_label=title
    )
    scrolling = el("div", table, class_="gs-scroll gs-tall", tabindex=0)
    return fold(words("pictures.numbers"), scrolling)


def _cell(text: str, class_: str | None) -> Html:
    return el("td", text, class_=class_)
