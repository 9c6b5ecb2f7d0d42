"""A picture of loss against memory: a point for each quantization in the row of its word."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.quality.quality import LIMITS, WORDS, Quality
from gpusizer.ui.presenters.charts.chart_frame import figure, key, numbers_table
from gpusizer.ui.presenters.charts.scale import Scale, round_up, ticks
from gpusizer.ui.presenters.charts.svg import FONT, PlotArea, at, axis_x, badge, label, line, svg
from gpusizer.ui.presenters.pieces.html import Child, Html, el
from gpusizer.ui.presenters.pieces.losses import loss_text
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import LossPoint

_ROW = 54  # units of a word's row: its name above, points below
_NAME = FONT + 10
_FEWEST = 2  # points; a single one is compared with nothing
_RADIUS = 5
_TICK_ROOM = 62
_KNEE = "K"
_FIRST, _LAST = 0.001, 2.0
"""Shares between which points of the first and the last word are placed, as logarithms."""


def loss_picture(points: Sequence[LossPoint], words: Words) -> Html | None:
    """Draw what quantizations lose against the memory they take; None with fewer than two."""
    if len(points) < _FEWEST:
        return None
    title = words("pictures.loss.title")

    def draw(width: int, uid: str) -> Html:
        return _drawn(width, uid, title, points, words)

    meaning = words("pictures.loss.knee")
    knees = [f"{meaning}: {point.label} · {point.detail}" for point in points if point.knee]
    return figure(
        "loss",
        title,
        words("pictures.loss.lead"),
        draw,
        None,
        key([(_KNEE, knee, None) for knee in knees]),
        _table(title, points, words),
    )


def _drawn(width: int, uid: str, title: str, points: Sequence[LossPoint], words: Words) -> Html:
    plot = PlotArea(8, 4, width - 22, 4 + _ROW * len(WORDS))
    max_ticks = int((plot.right - plot.left) // _TICK_ROOM)
    end = round_up(max(point.total_bytes for point in points) / GIB, max_ticks)
    scale = Scale(end * GIB, plot.left, plot.right)
    places = [(scale(tick * GIB), words.number(tick, ",g")) for tick in ticks(end, max_ticks)]
    pieces: list[Child] = [axis_x(plot, places, "GiB")]
    for row, word in enumerate(WORDS):
        top = plot.top + row * _ROW
        pieces.append(line(plot.left, top, plot.right, top, "gs-grid"))
        name = words.note(Note(f"loss_{word}"))
        pieces.append(label(plot.right, top + FONT + 2, name, "end", "gs-less"))
    for point in sorted(points, key=lambda point: point.knee):
        x, y = scale(point.total_bytes), plot.top + height_of(point.quality)
        said = el("title", _said(point, words))
        dot = el("circle", said, cx=at(x), cy=at(y), r=_RADIUS, class_="gs-dot")
        pieces.append(badge(x, y, _KNEE) if point.knee else dot)
    described = "; ".join(_said(point, words) for point in points)
    return svg(width, plot.bottom + 44, uid, title, described, pieces)


def height_of(quality: Quality) -> float:
    """Units from the top of the picture: the row of the word, and within it by the logarithm.

    In the middle of the row where no increase of perplexity is known (pictures).
    """
    row = quality.word.rank
    within = 0.5
    if quality.increase is not None:
        low, high = (_FIRST, *LIMITS)[row], (*LIMITS, _LAST)[row]
        share = min(max(quality.increase.likely, low), high)
        within = math.log(share / low) / math.log(high / low)
    return row * _ROW + _NAME + within * (_ROW - _NAME - _RADIUS - 1)


def _said(point: LossPoint, words: Words) -> str:
    memory = words.amount(point.total_bytes)
    return f"{point.label} · {point.detail}: {memory}, {loss_text(point.quality, words)}"


def _table(title: str, points: Sequence[LossPoint], words: Words) -> Html:
    columns = {
        words("column.quant"): [point.label for point in points],
        words("column.engine"): [point.detail for point in points],
        words("column.quality"): [loss_text(point.quality, words) for point in points],
        words("column.total"): [words.gib(point.total_bytes) for point in points],
    }
    return numbers_table(title, columns, words, texts=3)
