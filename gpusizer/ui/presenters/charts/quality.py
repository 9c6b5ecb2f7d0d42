"""A plot of quality by speed: a point for each model that runs, larger with its memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusizer.core.units import GIB
from gpusizer.quality.boards import LEADING
from gpusizer.ui.presenters.charts.names import NamedPoint, free_names
from gpusizer.ui.presenters.charts.numbers import heading, numbers_table
from gpusizer.ui.presenters.charts.plot import COLOURS, Axis, Json, Plot, dots, specification
from gpusizer.ui.presenters.charts.scale import log_ticks, ticks
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.quality_speed import QualityPoint, quality_points
from gpusizer.usecases.models_for.models_answer import ModelsFor

_FEWEST = 3  # points; fewer are three picks already
_STEPS = 5
# Areas of points in square pixels, by their memory in GiB.
_AREAS = ((8, 40), (24, 110), (float("inf"), 220))


def models_plot(answer: ModelsFor, words: Words) -> Plot | None:
    """Plot the models of an answer for a purpose; None without a leading board or a purpose."""
    purpose = answer.request.work
    board = None if purpose is None else answer.boards.board(LEADING.get(purpose))
    if board is None:
        return None
    of_text = purpose in ("chat", "code", "agents", "vision")
    unit = words("column.speed" if of_text else "column.pace")
    return quality_plot(quality_points(answer.rows), board.board, unit, words)


def quality_plot(
    points: Sequence[QualityPoint], board: str, unit: str, words: Words
) -> Plot | None:
    """Plot shares of models below on a board by the pace in `unit`; None with too few points."""
    if len(points) < _FEWEST:
        return None
    title = words("pictures.quality.title")
    lead = words("pictures.quality.lead", board=board)
    paces = [point.pace for point in points]
    marks = log_ticks(min(paces), max(paces))
    x = Axis(unit, [(tick, words.plain(tick)) for tick in marks], is_log=True)
    top = max(100 * point.share for point in points)
    percents = [(tick, words.number(tick, "g")) for tick in ticks(top, _STEPS)]
    y = Axis(words("pictures.axis.quality"), percents)
    placed = [_named_point(point) for point in sorted(points, key=lambda point: not point.is_front)]
    layers = [*_points(points, words), *free_names(placed, x, y)]
    described = f"{title}. {lead} " + "; ".join(_said(point, words) for point in points)
    ordered = sorted(points, key=lambda point: -point.share)
    columns = {
        words("column.model"): [point.label for point in ordered],
        y.title: [words.share(point.share, 1) for point in ordered],
        x.title: [words.speed(point.pace) for point in ordered],
        words("column.total"): [words.gib(point.used_bytes) for point in ordered],
    }
    return Plot(
        specification(described, x, y, layers),
        heading(title, lead),
        numbers_table(title, columns, words),
    )


def _points(points: Sequence[QualityPoint], words: Words) -> Iterator[Json]:
    # The front has a colour of its own, each class of memory an area.
    least = 0.0
    for most, area in _AREAS:
        for colour, is_front in ((COLOURS[0], False), (COLOURS[3], True)):
            some = [
                point
                for point in points
                if point.is_front is is_front and least < point.used_bytes / GIB <= most
            ]
            if some:
                places = [(point.pace, 100 * point.share) for point in some]
                yield dots(places, [_said(point, words) for point in some], colour, area)
        least = most


def _named_point(point: QualityPoint) -> NamedPoint:
    return NamedPoint(point.label, (point.pace, 100 * point.share), must_show=point.is_front)


def _said(point: QualityPoint, words: Words) -> str:
    share, memory = words.share(point.share, 1), words.amount(point.used_bytes)
    return f"{point.label}: {share}, {words.speed(point.pace)}, {memory}"
