"""Horizontal stacked bars of memory, with vertical lines at the capacities of GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpusizer.core.units import GIB
from gpusizer.ui.presenters.charts.chart_frame import (
    capacities_key,
    figure,
    letters,
    numbers_table,
    parts_key,
    top_of,
)
from gpusizer.ui.presenters.charts.scale import Scale, round_up, spread, ticks
from gpusizer.ui.presenters.charts.svg import (
    BADGE,
    FONT,
    PlotArea,
    at,
    axis_x,
    badge,
    filled,
    hatches,
    label,
    line,
    svg,
    text_width,
)
from gpusizer.ui.presenters.pieces.html import Child, Html, el, join
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity, Stack

_ROW, _BAR = 42, 16
_BAR_TOP = FONT + 6  # top of a bar within its row, below its name
_NAME_MARGIN = 6  # units between a line and a name
_STYLES = ("weights", "kv_cache", "activations", "overhead", "gradients", "optimizer")
"""Parts that have the same style in every picture; others take the remaining styles."""
_TICK_ROOM = 62  # units between ticks


def memory_picture(
    stacks: Sequence[Stack],
    capacities: Sequence[Capacity],
    context: str | None,
    concurrency: int,
    words: Words,
) -> Html | None:
    """Draw memory by quantization, with lines at the capacities of the picked GPUs."""
    key = "pictures.memory.drawing" if context is None else "pictures.memory.lead"
    lead = words(key, context=context, at_once=words.at_once(concurrency))
    title = words("pictures.memory.title")
    return _picture("memory", title, lead, words("column.quant"), stacks, capacities, words)


def training_picture(
    stacks: Sequence[Stack], capacities: Sequence[Capacity], words: Words
) -> Html | None:
    """Draw memory of training by method, with lines at the capacities of GPUs."""
    lead, title = words("pictures.training.lead"), words("pictures.training.title")
    return _picture("training", title, lead, words("column.method"), stacks, capacities, words)


def _picture(
    name: str,
    title: str,
    lead: str,
    first_heading: str,
    stacks: Sequence[Stack],
    capacities: Sequence[Capacity],
    words: Words,
) -> Html | None:
    """Draw stacked bars in their frame; None without bars."""
    if not stacks:
        return None
    keys = tuple(dict.fromkeys(part.key for stack in stacks for part in stack.parts))
    top = top_of((stack.total_bytes for stack in stacks), capacities)

    def draw(width: int, uid: str) -> Html:
        return _drawn(width, uid, title, stacks, capacities, keys, top, words)

    return figure(
        name,
        title,
        words("between_sentences").join((lead, words("pictures.lines")) if capacities else (lead,)),
        draw,
        parts_key(name, [(words(f"part.{key}"), style) for key, style in styles(keys).items()]),
        capacities_key(capacities, top, words),
        _table(title, first_heading, stacks, keys, words),
    )


def styles(keys: Sequence[str]) -> dict[str, int]:
    """Return the number of each part's style: its colour and texture."""
    free = iter([i for i, part in enumerate(_STYLES) if part not in keys])
    return {key: _STYLES.index(key) if key in _STYLES else next(free, len(keys)) for key in keys}


def _drawn(
    width: int,
    uid: str,
    title: str,
    stacks: Sequence[Stack],
    capacities: Sequence[Capacity],
    keys: Sequence[str],
    top: float,
    words: Words,
) -> Html:
    marks = [
        (letter, capacity)
        for letter, capacity in letters(capacities)
        if capacity.memory_bytes <= top
    ]
    top_margin = 2 * BADGE + 10 if marks else 4
    totals = max(text_width(words.gib(stack.total_bytes)) for stack in stacks) + 14
    plot = PlotArea(8, top_margin, width - max(totals, 22), top_margin + _ROW * len(stacks) + 6)
    max_ticks = int((plot.right - plot.left) // _TICK_ROOM)
    end = round_up(top / GIB, max_ticks)
    scale = Scale(end * GIB, plot.left, plot.right)
    places = [(scale(tick * GIB), words.number(tick, ",g")) for tick in ticks(end, max_ticks)]
    rows = [plot.top + 6 + i * _ROW for i in range(len(stacks))]
    names = [_name(stack, plot) for stack in stacks]
    grid = [
        line(x, start, x, stop, "gs-grid")
        for x, _ in places
        for start, stop in _beside_names(x, rows, names, plot)
    ]
    pieces: list[Child] = [hatches(uid), *grid, axis_x(plot, places, "GiB")]
    for stack, y in zip(stacks, rows, strict=True):
        pieces.append(_bar(stack, y, scale, styles(keys), uid, words))
    pieces.append(_capacity_lines(marks, rows, names, plot, scale))
    for stack, (name, detail), y in zip(stacks, names, rows, strict=True):
        pieces.append(_label(name, detail, y, plot))
        total = words.gib(stack.total_bytes)
        pieces.append(label(width, y + FONT + 19, total, "end", "gs-name"))
    description = "; ".join(f"{stack.label}: {words.amount(stack.total_bytes)}" for stack in stacks)
    return svg(width, plot.bottom + 44, uid, title, description, pieces)


def _bar(
    stack: Stack, y: float, scale: Scale, styled: Mapping[str, int], uid: str, words: Words
) -> Html:
    start_bytes, pieces = 0, []
    for part in stack.parts:
        start, end = scale(start_bytes), scale(start_bytes + part.amount_bytes)
        tooltip = f"{words(f'part.{part.key}')}: {words.amount(part.amount_bytes)}"
        index = styled[part.key]
        pieces.append(filled(start, y + _BAR_TOP, end - start, _BAR, index, uid, tooltip))
        start_bytes += part.amount_bytes
    return join(pieces)


def _name(stack: Stack, plot: PlotArea) -> tuple[str, str]:
    """Return the text above a bar: its name, and the detail where there is room for it."""
    detail = f" {stack.detail}" if stack.detail else ""
    fits = text_width(stack.label + detail) <= plot.right - plot.left
    return stack.label, detail if fits else ""


def _label(name: str, detail: str, y: float, plot: PlotArea) -> Html:
    small = el("tspan", detail, class_="gs-less") if detail else None
    return el("text", name, small, x=at(plot.left), y=at(y + FONT), class_="gs-name")


def _beside_names(
    x: float, rows: Sequence[float], names: Sequence[tuple[str, str]], plot: PlotArea
) -> Iterator[tuple[float, float]]:
    """Yield the pieces of a vertical line at `x` between the names of bars, from top to bottom."""
    start = plot.top
    for y, (name, detail) in zip(rows, names, strict=True):
        if x < plot.left + text_width(name + detail) + _NAME_MARGIN:
            if y > start:
                yield start, y
            start = y + _BAR_TOP - 2
    yield start, plot.bottom


def _capacity_lines(
    marks: Sequence[tuple[str, Capacity]],
    rows: Sequence[float],
    names: Sequence[tuple[str, str]],
    plot: PlotArea,
    scale: Scale,
) -> Html:
    """Draw a line for each capacity with its letter above it; letters are moved apart."""
    places = [scale(capacity.memory_bytes) for _, capacity in marks]
    moved = spread(places, 2 * BADGE + 2, plot.left + BADGE, plot.right + BADGE)
    pieces: list[Child] = []
    for (letter, _), x, badge_x in zip(marks, places, moved, strict=True):
        for start, stop in _beside_names(x, rows, names, plot):
            # A dashed line over a plain one is seen on bars as well as beside them.
            pieces += [line(x, start, x, stop, class_) for class_ in ("gs-under", "gs-level")]
        pieces.append(line(badge_x, 2 * BADGE, x, plot.top, "gs-level"))
        pieces.append(badge(badge_x, BADGE + 1, letter))
    return join(pieces)


def _table(
    title: str, first_heading: str, stacks: Sequence[Stack], keys: Sequence[str], words: Words
) -> Html:
    def amount(stack: Stack, key: str) -> str:
        return next((words.gib(part.amount_bytes) for part in stack.parts if part.key == key), "")

    parts = {f"{words(f'part.{k}')} (GiB)": [amount(stack, k) for stack in stacks] for k in keys}
    columns = {
        first_heading: [stack.label for stack in stacks],
        **parts,
        words("column.total"): [words.gib(stack.total_bytes) for stack in stacks],
    }
    return numbers_table(title, columns, words)
