"""SVG elements of pictures. Colours are classes of the stylesheet, never values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpusizer.ui.presenters.pieces.html import Child, Html, el, join

FONT = 14
"""Font size of every text, in units of the picture."""
_CHARACTER = 7.7  # an upper estimate of a character's mean width at that size
BADGE = 10
SERIES = 6
"""Number of styles of parts in the stylesheet; further parts reuse them from the first."""

Draw = Callable[[int, str], Html]
"""Draws a picture of a width, with a unique prefix for identifiers."""


@dataclass(frozen=True, slots=True)
class PlotArea:
    """The rectangle between the axes."""

    left: float
    top: float
    right: float
    bottom: float


def text_width(text: str) -> float:
    """Estimate the width of a text; an ideograph is as wide as it is high."""
    return sum(_CHARACTER if ord(character) < 0x2E80 else FONT for character in text)


def svg(
    width: float, height: float, uid: str, title: str, description: str, children: Iterable[Child]
) -> Html:
    """Build an `svg` element with a name and a description for screen readers."""
    return el(
        "svg",
        el("title", title, id=f"{uid}-title"),
        el("desc", description, id=f"{uid}-desc"),
        join(children),
        viewBox=f"0 0 {at(width)} {at(height)}",
        role="img",
        aria_labelledby=f"{uid}-title {uid}-desc",
        class_="gs-svg",
    )


def at(value: float) -> str:
    """Write a coordinate, rounded to a hundredth.

    >>> at(12.0), at(3.14159)
    ('12', '3.14')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def label(x: float, y: float, words: str, anchor: str = "start", class_: str = "gs-say") -> Html:
    return el("text", words, x=at(x), y=at(y), text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    return el("line", x1=at(x1), y1=at(y1), x2=at(x2), y2=at(y2), class_=class_)


def badge(x: float, y: float, name: str) -> Html:
    """Draw a disc with a letter or number that the key below the picture explains."""
    return join(
        (
            el("circle", cx=at(x), cy=at(y), r=BADGE, class_="gs-badge"),
            label(x, y + 5, name, "middle", "gs-badge-name"),
        )
    )


def hatches(uid: str) -> Html:
    """Define the textures over parts, by which neighbours differ even without colours."""
    lines = (
        "M0 8L8 0M-2 2L2 -2M6 10L10 6",
        "M4 0V8",
        "M0 4H8",
        "M0 0L8 8M-2 6L2 10M6 -2L10 2",
        "M4 0V8M0 4H8",
    )
    patterns = [
        el(
            "pattern",
            el("path", d=path, class_="gs-hatch"),
            id=f"{uid}-hatch-{i}",
            patternUnits="userSpaceOnUse",
            width=8,
            height=8,
        )
        for i, path in enumerate(lines, start=1)
    ]
    return el("defs", join(patterns))


def filled(
    x: float, y: float, width: float, height: float, index: int, uid: str, title: str = ""
) -> Html:
    """Draw a rectangle in the colour and texture of style number `index`."""
    index %= SERIES
    place = {"x": at(x), "y": at(y), "width": at(width), "height": at(height)}
    named = el("title", title) if title else None
    base = el("rect", named, **place, class_=f"gs-fill gs-series-{index}")
    if not index:
        return base
    hatch = f"url(#{uid}-hatch-{index})"
    return join((base, el("rect", named, **place, class_="gs-texture", fill=hatch)))


def axis_x(plot: PlotArea, places: Sequence[tuple[float, str]], title: str) -> Html:
    """Draw the horizontal axis: ticks, their labels, and the title below them."""
    pieces: list[Child] = []
    for x, words in places:
        pieces.append(line(x, plot.bottom, x, plot.bottom + 4, "gs-rule"))
        pieces.append(label(x, plot.bottom + 19, words, "middle", "gs-tick"))
    pieces.append(line(plot.left, plot.bottom, plot.right, plot.bottom, "gs-rule"))
    pieces.append(label(plot.right, plot.bottom + 38, title, "end", "gs-tick"))
    return join(pieces)
