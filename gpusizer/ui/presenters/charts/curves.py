"""Memory along the context, and speed along the number of users."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.figures.shapes import Capacity, Curve
from gpusizer.figures.users import UserSpeed
from gpusizer.ui.presenters.charts.frame import (
    capacities_key,
    figure,
    letters,
    lines_key,
    table,
    top_of,
    with_lines,
)
from gpusizer.ui.presenters.charts.lines import Axis, LinePlot, Say, draw_lines
from gpusizer.ui.presenters.figures import DASH
from gpusizer.ui.presenters.html import Html, join
from gpusizer.ui.presenters.words import Words
from gpusizer.units import GIB


def context_picture(curves: Sequence[Curve], capacities: Sequence[Capacity], asked: int,
                    concurrency: int, words: Words) -> Html | None:  # fmt: skip
    """Memory up to the longest context; `asked` is marked. None for models without a context."""
    curves = tuple(curve for curve in curves if curve.points)
    if not curves:
        return None
    top = top_of((point.y for curve in curves for point in curve.points), capacities)
    title = words("pictures.context.title")
    plot = LinePlot(
        title=title,
        x=Axis(words("pictures.axis.context"), words.count, _tokens(words)),
        y=Axis("GiB", _tick(words), words.amount, GIB),
        curves=curves,
        top=top,
        levels=tuple(
            (name, one.memory_bytes) for name, one in letters(capacities) if one.memory_bytes <= top
        ),
        uprights=(asked,),
    )
    lead = words(
        "pictures.context.lead", concurrency=words.whole(concurrency), context=words.whole(asked)
    )
    return figure(
        "context", title, with_lines(lead, capacities, words),
        lambda width, uid: draw_lines(plot, width, uid),
        lines_key([curve.label for curve in curves]),
        capacities_key(capacities, top, words),
        _table(title, words("column.context"), curves, "GiB", words.gib, words),
    )  # fmt: skip


def users_pictures(speeds: Sequence[UserSpeed], words: Words) -> Html | None:
    """Two pictures, in total and for each user: on one axis the second would lie at its foot."""
    speeds = [one for one in speeds if one.total.points]
    if not speeds:
        return None
    ends = [(one.total.label, one.pool_users) for one in speeds if one.pool_users is not None]
    full = tuple(users for _, users in ends)
    lead = words(
        "pictures.users.lead", users=", ".join(f"{n}: {words.whole(end)}" for n, end in ends)
    )
    return join(
        (
            _users("total", [one.total for one in speeds], full, lead, words),
            _users("per_user", [one.per_user for one in speeds], full, lead, words),
        )
    )


def _users(which: str, curves: Sequence[Curve], full: Sequence[int], lead: str,
           words: Words) -> Html:  # fmt: skip
    title, unit = words(f"pictures.users.{which}"), words("column.speed")
    plot = LinePlot(
        title=title,
        x=Axis(words("pictures.axis.users"), words.whole, words.whole),
        y=Axis(
            unit, _tick(words), lambda rate: words("tokens_per_second", speed=words.speed(rate))
        ),
        curves=tuple(curves),
        top=max(point.y for curve in curves for point in curve.points),
        uprights=tuple(full),
    )
    name = f"users-{which.replace('_', '-')}"
    return figure(
        name, title, lead if full else "",
        lambda width, uid: draw_lines(plot, width, uid),
        lines_key([curve.label for curve in curves]), None,
        _table(title, words("pictures.axis.users"), curves, unit, words.speed, words),
    )  # fmt: skip


def _tick(words: Words) -> Say:
    return lambda value: words.number(value, ",g")


def _tokens(words: Words) -> Say:
    return lambda count: words("tokens", count=words.whole(count))


def _table(title: str, first: str, curves: Sequence[Curve], unit: str, say: Say,
           words: Words) -> Html:  # fmt: skip
    """A row for each x that any curve has, a column for each curve."""
    columns = [{point.x: point.y for point in curve.points} for curve in curves]
    rows = [
        (words.whole(x), *(say(column[x]) if x in column else DASH for column in columns))
        for x in sorted(set().union(*columns))
    ]
    head = (first, *(f"{curve.label} ({unit})" for curve in curves))
    return table(title, head, rows, words)
