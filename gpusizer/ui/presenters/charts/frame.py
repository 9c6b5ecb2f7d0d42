"""What stands around a picture: its title, legend and key, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import ascii_uppercase

from gpusizer.figures.shapes import Capacity
from gpusizer.ui.presenters.charts.svg import SERIES, Draw, filled, hatches, marker, path
from gpusizer.ui.presenters.html import Child, Html, el, join
from gpusizer.ui.presenters.words import Words
from gpusizer.units import GIB

WIDE, NARROW = 560, 340
"""Widths pictures are drawn for: half a desktop's page, and a phone's."""
_NEAREST = 1.6  # a card this many times the largest amount is still worth the room


def with_lines(lead: str, capacities: Sequence[Capacity], words: Words) -> str:
    """A picture's sentence, and what its lettered lines are."""
    told = (lead, words("pictures.lines")) if capacities else (lead,)
    return words("between_sentences").join(told)


def figure(
    name: str,
    title: str,
    lead: str,
    draw: Draw,
    legend: Html | None,
    key: Html | None,
    numbers: Html,
) -> Html:
    """One picture, drawn for desktops and for phones; the style sheet shows one of the two."""
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
    """The colours and textures of parts, in the order they are stacked."""
    items = []
    for said, i in parts:
        uid = f"gs-{name}-key-{i}"
        swatch = join((hatches(uid), filled(0, 0, 16, 16, i, uid)))
        items.append(el("li", _sample(16, swatch), said))
    return el("ul", join(items), class_="gs-legend")


def lines_key(labels: Sequence[str]) -> Html:
    """The dashes and markers of lines."""
    items = []
    for i, said in enumerate(labels):
        drawn = join((path(((0, 8), (32, 8)), f"gs-line gs-series-{i % SERIES}"), marker(i, 16, 8)))
        items.append(el("li", _sample(32, drawn), said))
    return el("ul", join(items), class_="gs-legend")


def _sample(width: int, drawn: Html) -> Html:
    return el("svg", drawn, viewBox=f"0 0 {width} 16", width=width, height=16, aria_hidden="true")


def letters(capacities: Sequence[Capacity]) -> list[tuple[str, Capacity]]:
    """Capacities under letters, smallest first."""
    rising = sorted(capacities, key=lambda one: one.memory_bytes)
    return list(zip(ascii_uppercase, rising, strict=False))


def top_of(amounts: Iterable[float], capacities: Iterable[Capacity]) -> float:
    """The largest amount, or the next capacity above it when that is not far."""
    top = max(amounts, default=0) or GIB
    above = min((c.memory_bytes for c in capacities if c.memory_bytes >= top), default=None)
    return above if above is not None and above <= _NEAREST * top else top


def capacities_key(capacities: Sequence[Capacity], top_bytes: float, words: Words) -> Html | None:
    """What each letter holds; some hold more than the picture reaches."""
    items = []
    for letter, one in letters(capacities):
        beyond = words("pictures.beyond") if one.memory_bytes > top_bytes else None
        said = f"{one.label} · {words.amount(one.memory_bytes)}"
        items.append((letter, said, beyond))
    return key(items)


def key(items: Sequence[tuple[str, str, str | None]]) -> Html | None:
    """A list that explains badges: the badge, what it stands for, small print."""
    if not items:
        return None
    made = [
        el("li", el("b", name), el("span", said, el("small", f" ({small})") if small else None))
        for name, said, small in items
    ]
    return el("ul", join(made), class_="gs-key")


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: Words,
          texts: int = 1) -> Html:  # fmt: skip
    """The numbers of a picture, folded; all but the first `texts` columns are numbers."""

    def class_(column: int) -> str | None:
        return "gs-number" if column >= texts else None

    heads = [el("th", said, scope="col", class_=class_(i)) for i, said in enumerate(head)]
    body = [el("tr", join(_cells(row, class_))) for row in rows]
    made = el("table", el("thead", el("tr", join(heads))), el("tbody", join(body)),
              aria_label=title)  # fmt: skip
    return el(
        "details",
        el("summary", words("pictures.numbers")),
        el("div", made, class_="gs-scroll gs-tall", tabindex=0),
        class_="gs-details",
    )


def _cells(row: Sequence[str], class_: Callable[[int], str | None]) -> Iterable[Child]:
    yield el("th", row[0], scope="row")
    for i, cell in enumerate(row[1:], start=1):
        yield el("td", cell, class_=class_(i))
