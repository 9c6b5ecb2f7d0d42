"""Plots of memory against the context, and of speed against the number of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from gpusizer.answers.figures.shapes import Capacity, Curve
from gpusizer.answers.figures.users import UserSpeed
from gpusizer.core.units import GIB
from gpusizer.ui.presenters.charts.chart_frame import capacity_name, numbers_table, top_of
from gpusizer.ui.presenters.charts.plot import COLOURS, MUTED, Plot, axes, heading
from gpusizer.ui.presenters.charts.scale import round_up
from gpusizer.ui.presenters.grid import known
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.words import Words

_Y_TICKS = 5
_DIGITS = 2  # decimals in a tooltip


def context_plot(
    curves: Sequence[Curve],
    capacities: Sequence[Capacity],
    context: int,
    concurrency: int,
    words: Words,
) -> Plot | None:
    """Plot memory in GiB up to the longest context, with a level line for each GPU within reach.

    A vertical line marks the `context` of the request. None for models without a context.
    """
    curves = [curve for curve in curves if curve.points]
    if not curves:
        return None
    amounts = [point.y for curve in curves for point in curve.points]
    top_bytes = top_of(amounts, capacities)
    y_top = round_up(top_bytes / GIB, _Y_TICKS)
    longest = max(point.x for curve in curves for point in curve.points)
    levels = {level.label: level for level in capacities}.values()
    drawn_levels = [level for level in levels if level.memory_bytes <= top_bytes]
    names = [*(curve.label for curve in curves), *(level.label for level in drawn_levels)]
    marked = words("tokens", count=words.whole(context))
    colours = {**_colours(names), marked: MUTED}
    points = [
        *_points(curves, GIB),
        *(
            (x, level.memory_bytes / GIB, level.label)
            for level in drawn_levels
            for x in (0, longest)
        ),
        *((context, y, marked) for y in (0, y_top) if context <= longest),
    ]
    legend = [
        *((name, colours[name]) for name in names[: len(curves)]),
        *((capacity_name(level, words), colours[level.label]) for level in drawn_levels),
        *([(marked, MUTED)] if context <= longest else []),
    ]
    title = words("pictures.context.title")
    lead = words(
        "pictures.context.lead", at_once=words.at_once(concurrency), context=words.whole(context)
    )
    leads = [lead, words("pictures.levels")] if drawn_levels else [lead]
    table = _numbers(title, words("column.context"), curves, "GiB", words.gib, words)
    return Plot(
        _frame(points, axes("context", words).series),
        longest,
        y_top,
        colours,
        heading(title, words("between_sentences").join(leads), legend),
        el("div", table, class_="gs-figure gs-section"),
    )


def users_plots(speeds: Sequence[UserSpeed], words: Words) -> dict[str, Plot]:
    """Plot speed in total and for each user, apart: on one axis the second would be near zero.

    Vertical lines mark where the KV cache of a GPU is full. Empty where no speed is known.
    """
    known_speeds = {speed.total.label: speed for speed in speeds if speed.total.points}
    if not known_speeds:
        return {}
    totals = [speed.total for speed in known_speeds.values()]
    per_user = [speed.per_user for speed in known_speeds.values()]
    ends = {label: speed.pool_users for label, speed in known_speeds.items() if speed.pool_users}
    return {
        "users-total": _users("total", totals, ends, words),
        "users-per-user": _users("per_user", per_user, ends, words),
    }


def _users(kind: str, curves: Sequence[Curve], ends: dict[str, int], words: Words) -> Plot:
    title, unit = words(f"pictures.users.{kind}"), words("column.speed")
    colours = _colours([curve.label for curve in curves])
    full = {label: words("pictures.full", gpu=label) for label in ends}
    y_top = round_up(max(point.y for curve in curves for point in curve.points), _Y_TICKS)
    points = [
        *_points(curves, 1),
        *((ends[label], y, name) for label, name in full.items() for y in (0, y_top)),
    ]
    users = ", ".join(f"{label}: {words.whole(end)}" for label, end in ends.items())
    table = _numbers(title, words("pictures.axis.users"), curves, unit, words.speed, words)
    return Plot(
        _frame(points, axes("users-total", words).series),
        max(point.x for curve in curves for point in curve.points),
        y_top,
        {**colours, **{name: MUTED for name in full.values()}},
        heading(title, words("pictures.users.lead", users=users) if ends else "", colours.items()),
        el("div", table, class_="gs-figure gs-section"),
    )


def _colours(names: Sequence[str]) -> dict[str, str]:
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def _points(curves: Sequence[Curve], unit: float) -> Iterator[tuple[float, float, str]]:
    for curve in curves:
        yield from ((point.x, point.y / unit, curve.label) for point in curve.points)


def _frame(points: Sequence[tuple[float, float, str]], series: str) -> pd.DataFrame:
    return pd.DataFrame(points, columns=["x", "y", series]).round({"y": _DIGITS})


def _numbers(
    title: str,
    x_heading: str,
    curves: Sequence[Curve],
    unit: str,
    write: Callable[[float], str],
    words: Words,
) -> Html:
    """Write a table with a row for each x of any curve and a column for each curve."""
    columns = {
        f"{curve.label} ({unit})": {point.x: point.y for point in curve.points} for curve in curves
    }
    values = pd.DataFrame(columns).sort_index()
    cells = values.map(lambda value: known(None if pd.isna(value) else value, write))
    cells.insert(0, x_heading, values.index.map(words.whole))
    return numbers_table(title, cells, words)
