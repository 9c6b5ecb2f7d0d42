"""A plot of loss against memory: a point for each quantization, most of them named."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.quality.quality import LIMITS, WORDS, Quality
from gpusizer.ui.presenters.charts.lines import named_capacities
from gpusizer.ui.presenters.charts.names import NamedPoint, free_names, level_of
from gpusizer.ui.presenters.charts.numbers import heading, numbers_table
from gpusizer.ui.presenters.charts.plot import (
    COLOURS,
    NARROW,
    Axis,
    Json,
    Plot,
    dots,
    name,
    specification,
    text_width,
    upright,
)
from gpusizer.ui.presenters.charts.scale import ticks
from gpusizer.ui.presenters.pieces.losses import loss_text
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity, LossPoint

_FEWEST = 2  # points; a single one is compared with nothing
_STEPS = 5
_LEAST, _MOST = 0.001, 2.0
"""Shares of perplexity between which points are placed: what loses nothing is at the lower end."""
_WORD = 120  # pixels that a word of a loss takes at most
_LINE = 15  # pixels of a line of text


def loss_plot(
    points: Sequence[LossPoint], capacities: Sequence[Capacity], words: Words
) -> Plot | None:
    """Plot what quantizations lose against the memory they take; None with fewer than two."""
    if len(points) < _FEWEST:
        return None
    title, lead = words("pictures.loss.title"), words("pictures.loss.lead")
    top = max(point.total_bytes for point in points) / GIB
    x = Axis("GiB", [(tick, words.number(tick, ",g")) for tick in ticks(top, _STEPS)])
    y = _losses(points, words)
    places = {point: (point.total_bytes / GIB, share_of(point.quality)) for point in points}
    layers = [*_bounds(x, y, words)]
    named = named_capacities(capacities, words).items()
    within = [(at_bytes / GIB, label) for at_bytes, label in named if at_bytes / GIB <= x.last]
    for line, (at, names) in enumerate(within):
        # names of many cards give way to their memory
        label = names if text_width(names) <= NARROW else words.amount(round(at * GIB))
        layers += [upright(at, y), _beside_upright(label, at, x, y, line)]
    for colour, knees in ((COLOURS[0], False), (COLOURS[3], True)):
        some = [point for point in points if point.knee is knees]
        said = [_said(point, words) for point in some]
        layers.append(dots([places[point] for point in some], said, colour, 150 if knees else 70))
    first = sorted(points, key=lambda point: (not point.knee, point.total_bytes))
    labels = [NamedPoint(point.label, places[point], must_show=point.knee) for point in first]
    # The words of losses are written below their upper limits at the right end.
    words_of_losses = [(NARROW - _WORD, NARROW, level_of(at, y) + 9) for at, _ in y.ticks[1:]]
    layers += free_names(labels, x, y, words_of_losses)
    described = f"{title}. {lead} " + "; ".join(_said(point, words) for point in points)
    columns = {
        words("column.quant"): [point.label for point in points],
        words("column.engine"): [point.detail for point in points],
        words("column.quality"): [loss_text(point.quality, words) for point in points],
        words("column.total"): [words.gib(point.total_bytes) for point in points],
    }
    return Plot(
        specification(described, x, y, layers),
        heading(title, lead),
        numbers_table(title, columns, words, texts=3),
    )


def share_of(quality: Quality) -> float:
    """Return the share of perplexity of a point, or that of the middle of its word if it is unknown
    (pictures)."""
    if quality.increase is not None:
        return min(max(quality.increase.likely, _LEAST), _MOST)
    low, high = _ends(quality.word.rank)
    return math.sqrt(low * high)


def _ends(rank: int) -> tuple[float, float]:
    """Return the shares between which a word is said."""
    return (_LEAST, *LIMITS)[rank], (*LIMITS, _MOST)[rank]


def _losses(points: Sequence[LossPoint], words: Words) -> Axis:
    """Return the axis of losses, whose ticks are the limits of words."""
    most = max(share_of(point.quality) for point in points)
    shares = [_LEAST, *LIMITS, _MOST]
    end = next(i for i, share in enumerate(shares) if share >= most)
    shown = shares[: max(end, 2) + 1]
    known = any(point.quality.increase is not None for point in points)
    texts = [f"{words.number(100 * share, 'g')} %" if known else "" for share in shown]
    title = words("pictures.axis.loss") if known else ""
    return Axis(title, [*zip(shown, texts, strict=True)], is_log=True)


def _bounds(x: Axis, y: Axis, words: Words) -> Iterator[Json]:
    """Write each word of a loss below its upper limit."""
    for word, high in zip(WORDS, (*LIMITS, _MOST), strict=True):
        if high > y.last * (1 + 1e-9):
            return
        said = words.note(Note(f"loss_{word}"))
        yield name(said, (x.last, high), "right", dy=9, is_small=True)


def _beside_upright(text: str, at: float, x: Axis, y: Axis, line: int) -> Json:
    # A card's name is over the top of its line, on a side that has the room, or over the plot; each
    # name has a line of text of its own.
    width, middle = text_width(text), x.share(at) * NARROW
    place, align = (x.first, y.last), "left"
    if middle + width < NARROW:
        place = (at, y.last)
    elif width < middle:
        place, align = (at, y.last), "right"
    return name(text, place, align, dy=-9 - _LINE * line, is_small=True)


def _said(point: LossPoint, words: Words) -> str:
    memory = words.amount(point.total_bytes)
    return f"{point.label} · {point.detail}: {memory}, {loss_text(point.quality, words)}"
