"""Curves on two axes from zero, with level lines for capacities and upright ones for limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusizer.figures.shapes import Curve
from gpusizer.ui.presenters.charts.scale import Scale, round_up, spread, ticks
from gpusizer.ui.presenters.charts.svg import (
    BADGE,
    SERIES,
    Plot,
    axis_x,
    axis_y,
    badge,
    level,
    line,
    marker,
    path,
    svg,
    text_width,
)
from gpusizer.ui.presenters.html import Child, Html, join

Say = Callable[[float], str]
_HEIGHT = 300
_Y_TICKS = 5
_APART = 26  # units between markers of a line


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis counts: `say` writes a tick in units of `unit`, `tell` an amount in words."""

    title: str
    say: Say
    tell: Say
    unit: float = 1.0


@dataclass(frozen=True, slots=True)
class LinePlot:
    """Curves to draw.

    Attributes:
        top: the largest y to make room for.
        levels: y of lines across, each under a letter.
        uprights: x of dotted lines.
    """

    title: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    top: float
    levels: tuple[tuple[str, float], ...] = ()
    uprights: tuple[float, ...] = ()


def draw_lines(plot: LinePlot, width: int, uid: str) -> Html:
    """The picture in one width."""
    unit = plot.y.unit
    end = round_up(plot.top / unit, _Y_TICKS)
    y_ticks = [(tick * unit, plot.y.say(tick)) for tick in ticks(end, _Y_TICKS)]
    left = 12 + max(text_width(words) for _, words in y_ticks)
    right = width - (3 * BADGE + 6 if plot.levels else 22)
    area = Plot(left, 34, right, 34 + _HEIGHT)
    longest = max(point.x for curve in plot.curves for point in curve.points)
    x, y = Scale(longest, area.left, area.right), Scale(end * unit, area.bottom, area.top)
    pieces: list[Child] = [
        axis_y(area, [(y(tick), words) for tick, words in y_ticks], plot.y.title),
        axis_x(area, _x_places(plot.x, longest, x), plot.x.title, grid=False),
    ]
    pieces += [line(x(at), area.top, x(at), area.bottom, "gs-upright") for at in plot.uprights
               if at <= longest]  # fmt: skip
    pieces.append(_levels(plot.levels, area, y))
    for i, curve in enumerate(plot.curves):
        pieces.append(_curve(i, curve, x, y, plot))
    return svg(width, area.bottom + 44, uid, plot.title, _described(plot), pieces)


def _x_places(axis: Axis, longest: float, scale: Scale) -> list[tuple[float, str]]:
    """Ticks far enough apart for their labels; counts have no ticks between whole numbers."""
    widest = text_width(axis.say(longest)) + 18
    most = max(1, int((scale.end - scale.start) // widest))
    return [(scale(tick), axis.say(tick)) for tick in ticks(longest, most) if tick == int(tick)]


def _levels(levels: Sequence[tuple[str, float]], area: Plot, scale: Scale) -> Html:
    places = [scale(value) for _, value in levels]
    moved = spread(places, 2 * BADGE + 2, area.top, area.bottom - BADGE)
    pieces: list[Child] = []
    for (name, _), y, beside in zip(levels, places, moved, strict=True):
        pieces.append(level(area.left, y, area.right, y))
        pieces.append(line(area.right, y, area.right + BADGE, beside, "gs-level"))
        pieces.append(badge(area.right + 2 * BADGE, beside, name))
    return join(pieces)


def _curve(index: int, curve: Curve, x: Scale, y: Scale, plot: LinePlot) -> Html:
    """The line through all points; markers at its end and where they do not crowd."""
    places = [(x(point.x), y(point.y)) for point in curve.points]
    pieces: list[Child] = [path(places, f"gs-line gs-series-{index % SERIES}")]
    before, last = float("-inf"), places[-1][0]
    for point, (left, top) in zip(curve.points, places, strict=True):
        if left == last or left - before >= _APART <= last - left:
            said = f"{curve.label}: {plot.x.tell(point.x)}, {plot.y.tell(point.y)}"
            pieces.append(marker(index, left, top, said))
            before = left
    return join(pieces)


def _described(plot: LinePlot) -> str:
    """Both ends of every curve."""
    return "; ".join(
        f"{curve.label}: {plot.y.tell(curve.points[0].y)} ({plot.x.tell(curve.points[0].x)})"
        f" – {plot.y.tell(curve.points[-1].y)} ({plot.x.tell(curve.points[-1].x)})"
        for curve in plot.curves
    )
