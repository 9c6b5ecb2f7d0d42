"""Plots of memory along the context, and of the speed of each user by the number of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from gpusizer.core.units import GIB
from gpusizer.ui.presenters.charts.numbers import heading, numbers_table
from gpusizer.ui.presenters.charts.plot import (
    COLOURS,
    HEIGHT,
    NARROW,
    Axis,
    Json,
    Place,
    Plot,
    band,
    dots,
    level,
    line,
    name,
    named,
    specification,
    text_width,
    upright,
)
from gpusizer.ui.presenters.charts.scale import log_ticks, spans_decades, spread, ticks
from gpusizer.ui.presenters.pieces.grid import known
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity, Curve
from gpusizer.usecases.figures.pictures import Pictures
from gpusizer.usecases.figures.speeds import UserSpeed

_STEPS = 5
_NEAREST = 1.6  # the axis extends to a capacity of at most this many times the largest amount
_GAP = 18  # pixels between names
_RISE = 10  # pixels from a line's end to a name over it


def along_plot(pictures: Pictures, words: Words) -> Plot | None:
    """Plot the speed of each user by users where several share a GPU, else memory by context."""
    if pictures.users:
        return users_plot(pictures.users, pictures.concurrency, words)
    return context_plot(pictures, words)


def context_plot(pictures: Pictures, words: Words) -> Plot | None:
    """Plot GiB up to the longest context, with a level line for each GPU within reach.

    Curves of GPUs end at the context that surely fits. None for models without a context.
    """
    curves = [curve for curve in pictures.curves if curve.points]
    if not curves:
        return None
    key = "places" if pictures.of_places else "levels"
    title, context = words("pictures.context.title"), pictures.context or 0
    amounts = [point.y for curve in curves for point in curve.points]
    levels = [c for c in pictures.capacities if c.memory_bytes <= _NEAREST * max(amounts)]
    top_bytes = max(*amounts, *(capacity.memory_bytes for capacity in levels))
    longest = max(point.x for curve in curves for point in curve.points)
    x = _linear(words("pictures.axis.context"), longest, words)
    y = _linear("GiB", top_bytes / GIB, words)
    ends = []
    for curve in curves:
        end, label = curve.points[-1], curve.label
        if pictures.of_places:
            label = words("pictures.full", gpu=label, most=words.whole(end.x))
        ends.append(End(label, end.x, end.y / GIB))
    layers: list[Json] = []
    for at_bytes, label in named_capacities(levels, words).items():
        # A curve of a GPU has its name already, at the end that comes near.
        label = words.amount(at_bytes) if pictures.of_places else label
        at = at_bytes / GIB
        layers += [level(at, x), name(label, (x.first, at), dx=4, dy=-9, is_small=True)]
    if context <= longest and not pictures.of_places:
        layers.append(upright(context, y))
    for curve, colour in zip(curves, _colours(curves), strict=True):
        places = [(point.x, point.y / GIB) for point in curve.points]
        layers += [line(places, colour), dots(places, _said(curve, words), colour, 30)]
    layers += end_names(ends, _colours(ends), x, y, offset=_GAP if pictures.of_places else -_RISE)
    users = 1 if pictures.of_places else pictures.concurrency
    lead = words(
        f"pictures.context.{key}", at_once=words.at_once(users), context=words.whole(context)
    )
    columns = _columns(
        words("column.context"),
        [(_heading(curve), {int(p.x): p.y for p in curve.points}) for curve in curves],
        words.gib,
        words,
    )
    described = f"{title}. {lead} " + "; ".join(end.label for end in ends)
    return Plot(
        specification(described, x, y, layers),
        heading(title, lead),
        numbers_table(title, columns, words),
    )


def users_plot(speeds: Sequence[UserSpeed], asked: int, words: Words) -> Plot:
    """Plot tokens/s of each user, with its band, up to the users that surely fit at once."""
    title = words("pictures.users.title")
    rates = [rate for speed in speeds for _, rate in speed.rates]
    most = max(users for speed in speeds for users, _ in speed.rates)
    shown = [rate.likely for rate in rates]
    x = _axis(words("pictures.axis.users"), [1, most], words)
    y = _axis(words("column.speed"), [*shown, *(rate.high for rate in rates)], words, shown)
    layers: list[Json] = []
    if asked <= most:
        layers += [upright(asked, y), name(words.at_once(asked), (asked, y.last), dx=5, dy=6)]
    ends = []
    for speed, colour in zip(speeds, _colours(speeds), strict=True):
        places = [(float(users), rate.likely) for users, rate in speed.rates]
        spans = [(float(users), rate.low, rate.high) for users, rate in speed.rates]
        said = [
            f"{speed.label}: {words.whole(n)}, {words.rate(rate.likely)}" for n, rate in speed.rates
        ]
        layers += [
            band(_inside(spans, y), colour),
            line(places, colour),
            dots(places, said, colour, 30),
        ]
        end = speed.label
        if speed.most_users:
            end = words("pictures.full", gpu=end, most=words.whole(speed.most_users))
        ends.append(End(end, *places[-1]))
    layers += end_names(ends, _colours(ends), x, y, offset=_GAP)
    lead = words("pictures.users.lead")
    columns = _columns(
        x.title,
        [(f"{s.label} (tok/s)", {n: rate.likely for n, rate in s.rates}) for s in speeds],
        words.speed,
        words,
    )
    described = f"{title}. {lead} " + "; ".join(end.label for end in ends)
    return Plot(
        specification(described, x, y, layers),
        heading(title, lead),
        numbers_table(title, columns, words),
    )


@dataclass(frozen=True, slots=True)
class End:
    """The end of a line, and the name written beside it."""

    label: str
    x: float
    y: float


def end_names(
    ends: Sequence[End], colours: Sequence[str], x: Axis, y: Axis, *, offset: int
) -> Iterator[Json]:
    """Write each line's name beside its end; where there is no room to the right, to the left and
    `offset` pixels lower. Names are moved apart from each other."""
    widths = [text_width(end.label) + 24 for end in ends]
    rooms = [(1 - x.share(end.x)) * NARROW for end in ends]
    go_right = [width <= room for width, room in zip(widths, rooms, strict=True)]
    pixels = [
        HEIGHT * (1 - y.share(end.y)) + (0 if right else offset)
        for end, right in zip(ends, go_right, strict=True)
    ]
    moved = spread(pixels, _GAP, 8, HEIGHT - 8)
    for end, colour, width, right, pixel in zip(
        ends, colours, widths, go_right, moved, strict=True
    ):
        up = y.value(1 - pixel / HEIGHT)
        fits = right or width <= x.share(end.x) * NARROW
        place: Place = (end.x if fits else x.last, up)
        yield from named(end.label, place, "left" if right else "right", colour, 8 if right else 0)


def _inside(
    spans: Sequence[tuple[float, float, float]], y: Axis
) -> list[tuple[float, float, float]]:
    return [(x, max(low, y.first), min(high, y.last)) for x, low, high in spans]


def named_capacities(capacities: Sequence[Capacity], words: Words) -> dict[int, str]:
    """Return the names of GPUs at each amount of memory, with the amount; one name for amounts
    that are written alike."""
    at: dict[str, int] = {}
    gpus: dict[str, list[str]] = {}
    for capacity in capacities:
        amount = words.amount(capacity.memory_bytes)
        at.setdefault(amount, capacity.memory_bytes)
        if capacity.label not in gpus.setdefault(amount, []):
            gpus[amount].append(capacity.label)
    return {
        at[amount]: words("bars.yours", gpu=", ".join(labels), amount=amount)
        for amount, labels in gpus.items()
    }


def _linear(title: str, top: float, words: Words) -> Axis:
    return Axis(title, [(tick, words.number(tick, ",g")) for tick in ticks(top, _STEPS)])


def _axis(
    title: str, values: Sequence[float], words: Words, spanned: Sequence[float] | None = None
) -> Axis:
    """Return a logarithmic axis where the `spanned` values are decades apart, else one from 0."""
    if not spans_decades(spanned or values):
        return _linear(title, max(values), words)
    places = log_ticks(min(spanned or values), max(values))
    return Axis(title, [(tick, words.number(tick, ",g")) for tick in places], is_log=True)


def _colours(drawn: Sequence[object]) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(len(drawn))]


def _heading(curve: Curve) -> str:
    return f"{curve.label} · {curve.detail} (GiB)" if curve.detail else f"{curve.label} (GiB)"


def _said(curve: Curve, words: Words) -> list[str]:
    tokens = [words("tokens", count=words.whole(point.x)) for point in curve.points]
    amounts = [words.amount(int(point.y)) for point in curve.points]
    what = f"{curve.label} · {curve.detail}"
    return [f"{what}: {at}, {gib}" for at, gib in zip(tokens, amounts, strict=True)]


def _columns(
    first: str,
    series: Sequence[tuple[str, dict[int, float]]],
    write: Callable[[float], str],
    words: Words,
) -> dict[str, list[str]]:
    """Return a table with a row for each x of any series and a column for each series."""
    frame = pd.DataFrame({heading_text: pd.Series(values) for heading_text, values in series})
    frame = frame.sort_index()
    columns = {first: [words.whole(int(x)) for x in frame.index]}
    for heading_text, cells in frame.items():
        columns[str(heading_text)] = [known(None if pd.isna(y) else y, write) for y in cells]
    return columns
