"""A small kit of SVG pieces. Colours are classes of the style sheet, never values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpusizer.ui.presenters.html import Child, Html, el, join

FONT = 14
"""Units of every text, and pixels where a picture is as wide as it was drawn."""
_CHARACTER = 7.7  # mean width of a character at that size, generously
BADGE = 10
SERIES = 6
"""Styles of lines and of parts that the style sheet has; more of them come round again."""

Draw = Callable[[int, str], Html]
"""Draws a picture of a width, with a prefix of its own for identifiers."""


@dataclass(frozen=True, slots=True)
class Plot:
    """The rectangle between the axes."""

    left: float
    top: float
    right: float
    bottom: float


def text_width(text: str) -> float:
    """About as wide as this is drawn; ideographs are as wide as they are high."""
    return sum(_CHARACTER if ord(character) < 0x2E80 else FONT for character in text)


def svg(width: float, height: float, uid: str, title: str, description: str,
        children: Iterable[Child]) -> Html:  # fmt: skip
    """A picture with a name and a description for those who do not see it."""
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
    """A coordinate, to a hundredth.

    >>> at(12.0), at(3.14159)
    ('12', '3.14')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def label(x: float, y: float, words: str, anchor: str = "start", class_: str = "gs-say") -> Html:
    return el("text", words, x=at(x), y=at(y), text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    return el("line", x1=at(x1), y1=at(y1), x2=at(x2), y2=at(y2), class_=class_)


def level(x1: float, y1: float, x2: float, y2: float) -> Html:
    """A dashed line that is seen on bars as well as beside them."""
    return join((line(x1, y1, x2, y2, "gs-under"), line(x1, y1, x2, y2, "gs-level")))


def rect(x: float, y: float, width: float, height: float, class_: str, title: str = "",
         fill: str | None = None) -> Html:  # fmt: skip
    return el(
        "rect", el("title", title) if title else None,
        x=at(x), y=at(y), width=at(width), height=at(height), class_=class_, fill=fill,
    )  # fmt: skip


def path(points: Iterable[tuple[float, float]], class_: str) -> Html:
    """A line through points."""
    places = " L".join(f"{at(x)} {at(y)}" for x, y in points)
    return el("path", d=f"M{places}", class_=class_)


def badge(x: float, y: float, name: str) -> Html:
    """A disc with a letter or number that the key below the picture explains."""
    return join(
        (
            el("circle", cx=at(x), cy=at(y), r=BADGE, class_="gs-badge"),
            label(x, y + 5, name, "middle", "gs-badge-name"),
        )
    )


def marker(index: int, x: float, y: float, title: str = "") -> Html:
    """Disc, square, triangle or diamond: series differ in shape as well as in colour."""
    r = 4.5
    shapes = (
        None,
        ((-r, -r), (r, -r), (r, r), (-r, r)),
        ((0, -r - 1), (r + 1, r), (-r - 1, r)),
        ((0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)),
    )
    shape, class_ = shapes[index % len(shapes)], f"gs-marker gs-series-{index % SERIES}"
    said = el("title", title) if title else None
    if shape is None:
        return el("circle", said, cx=at(x), cy=at(y), r=at(r), class_=class_)
    points = " ".join(f"{at(x + dx)},{at(y + dy)}" for dx, dy in shape)
    return el("polygon", said, points=points, class_=class_)


def hatches(uid: str) -> Html:
    """Textures laid over parts, so that neighbours differ without their colours."""
    lines = ("M0 8L8 0M-2 2L2 -2M6 10L10 6", "M4 0V8", "M0 4H8", "M0 0L8 8M-2 6L2 10M6 -2L10 2",
             "M4 0V8M0 4H8")  # fmt: skip
    made = [
        el("pattern", el("path", d=drawn, class_="gs-hatch"), id=f"{uid}-hatch-{i}",
           patternUnits="userSpaceOnUse", width=8, height=8)
        for i, drawn in enumerate(lines, start=1)
    ]  # fmt: skip
    return el("defs", join(made))


def filled(x: float, y: float, width: float, height: float, index: int, uid: str,
           title: str = "") -> Html:  # fmt: skip
    """A rectangle in the colour and the texture of a part."""
    index %= SERIES
    base = rect(x, y, width, height, f"gs-fill gs-series-{index}", title)
    if not index:
        return base
    over = rect(x, y, width, height, "gs-texture", title, f"url(#{uid}-hatch-{index})")
    return join((base, over))


def axis_x(plot: Plot, places: Sequence[tuple[float, str]], title: str, grid: bool) -> Html:
    """The lower axis: ticks, their labels, and below them what is counted."""
    made: list[Child] = []
    for x, words in places:
        if grid:
            made.append(line(x, plot.top, x, plot.bottom, "gs-grid"))
        made.append(line(x, plot.bottom, x, plot.bottom + 4, "gs-rule"))
        made.append(label(x, plot.bottom + 19, words, "middle", "gs-tick"))
    made.append(line(plot.left, plot.bottom, plot.right, plot.bottom, "gs-rule"))
    made.append(label(plot.right, plot.bottom + 38, title, "end", "gs-tick"))
    return join(made)


def axis_y(plot: Plot, places: Sequence[tuple[float, str]], title: str) -> Html:
    """The left axis with lines across; what is counted stands above it."""
    made: list[Child] = []
    for y, words in places:
        made.append(line(plot.left, y, plot.right, y, "gs-grid"))
        made.append(label(plot.left - 7, y + 5, words, "end", "gs-tick"))
    made.append(line(plot.left, plot.top, plot.left, plot.bottom, "gs-rule"))
    made.append(label(0, plot.top - 14, title, "start", "gs-tick"))
    return join(made)
