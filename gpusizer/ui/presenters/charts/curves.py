"""Plots of memory against the context, and of speed against the number of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from gpusizer.core.units import GIB
from gpusizer.ui.presenters.charts.chart_frame import capacity_name, numbers_table, top_of
from gpusizer.ui.presenters.charts.plot import COLOURS, MUTED, Plot, axes, heading
from gpusizer.ui.presenters.charts.scale import round_up
from gpusizer.ui.presenters.pieces.grid import known
from gpusizer.ui.presenters.pieces.html import Html, el
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity, Curve
from gpusizer.usecases.figures.speeds import UserSpeed

_Y_TICKS = 5
_DIGITS = 2  # decimals in a tooltip
_STROKE = 0.04  # half of the stroke that marks a knee, of the height of a picture


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


def users_plots(
    speeds: Sequence[UserSpeed], ttft_seconds: float | None, words: Words
) -> dict[str, Plot]:
    """Plot speed in total, for each user, and the first token, apart: on one axis some would be
    near zero.

    Upright lines mark where the KV cache of a GPU is full, short strokes the knee of a curve, a
    level line the most that a first token may take. Empty where no speed is known.
    """
    drawn = {speed.total.label: speed for speed in speeds if speed.total.points}
    if not drawn:
        return {}
    curves = {
        "total": [speed.total for speed in drawn.values()],
        "per_user": [speed.per_user for speed in drawn.values()],
        "first_token": [speed.first_token for speed in drawn.values()],
    }
    return {
        f"users-{kind.replace('_', '-')}": _users(kind, of_kind, drawn, ttft_seconds, words)
        for kind, of_kind in curves.items()
        if any(curve.points for curve in of_kind)
    }


def _users(
    kind: str,
    curves: Sequence[Curve],
    drawn: Mapping[str, UserSpeed],
    ttft_seconds: float | None,
    words: Words,
) -> Plot:
    """Plot one quantity against users."""
    title, labels = words(f"pictures.users.{kind}"), axes(f"users-{kind.replace('_', '-')}", words)
    colours = _colours([curve.label for curve in curves])
    ends = {label: speed.pool_users for label, speed in drawn.items() if speed.pool_users}
    knees = {label: speed.knee.x for label, speed in drawn.items() if speed.knee}
    target = ttft_seconds if kind == "first_token" else None
    most = max(point.y for curve in curves for point in curve.points)
    y_top = round_up(max(most, target or 0.0), _Y_TICKS)
    x_top = max(point.x for curve in curves for point in curve.points)
    points = list(_points(curves, 1))
    marks, legend = dict[str, str](), dict(colours)
    for label, end in ends.items():
        name = words("pictures.full", gpu=label)
        points += [(end, y, name) for y in (0, y_top)]
        marks[name] = MUTED
    if kind == "total":
        for label, knee in knees.items():
            name = words("pictures.knee", gpu=label)
            at = next(point.y for point in drawn[label].total.points if point.x == knee)
            points += [(knee, at + stroke * y_top, name) for stroke in (-_STROKE, _STROKE)]
            marks[name] = colours[label]
    if target is not None:
        name = words("pictures.target", seconds=words.number(target, "g"))
        points += [(x, target, name) for x in (0, x_top)]
        marks[name] = legend[name] = MUTED
    leads = [
        words(
            f"pictures.users.{key}",
            users=", ".join(f"{label}: {words.whole(count)}" for label, count in users.items()),
        )
        for key, users in (("lead", ends), ("knees", knees if kind == "total" else {}))
        if users
    ]
    table = _numbers(title, labels.x_title, curves, labels.y_title, words.speed, words)
    return Plot(
        _frame(points, labels.series),
        x_top,
        y_top,
        {**colours, **marks},
        heading(title, words("between_sentences").join(leads), legend.items()),
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
    rows = sorted({point.x for curve in curves for point in curve.points})
    columns = {x_heading: [words.whole(x) for x in rows]}
    for curve in curves:
        values = {point.x: point.y for point in curve.points}
        columns[f"{curve.label} ({unit})"] = [known(values.get(x), write) for x in rows]
    return numbers_table(title, columns, words)
