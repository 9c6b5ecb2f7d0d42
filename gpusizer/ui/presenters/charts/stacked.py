"""Stacked bars of memory, lying down, with upright lines for what GPUs hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpusizer.figures.shapes import Capacity, Stack
from gpusizer.ui.presenters.charts.frame import (
    capacities_key,
    figure,
    letters,
    parts_key,
    table,
    top_of,
    with_lines,
)
from gpusizer.ui.presenters.charts.scale import Scale, round_up, spread, ticks
from gpusizer.ui.presenters.charts.svg import (
    BADGE,
    FONT,
    Plot,
    at,
    axis_x,
    badge,
    filled,
    hatches,
    label,
    level,
    line,
    svg,
    text_width,
)
from gpusizer.ui.presenters.html import Child, Html, el, join
from gpusizer.ui.presenters.words import Words
from gpusizer.units import GIB

_ROW, _BAR = 42, 16
_STYLES = ("weights", "kv_cache", "activations", "overhead", "gradients", "optimizer")
"""Parts that look the same in every picture; others take what is free."""
_TICK_ROOM = 62  # units between ticks


def memory_picture(stacks: Sequence[Stack], capacities: Sequence[Capacity], context: str,
                   concurrency: str, words: Words) -> Html | None:  # fmt: skip
    """Memory by quantization against what the picked GPUs hold."""
    lead = words("pictures.memory.lead", context=context, concurrency=concurrency)
    title = words("pictures.memory.title")
    return _picture("memory", title, lead, words("column.quant"), stacks, capacities, words)


def training_picture(
    stacks: Sequence[Stack], capacities: Sequence[Capacity], words: Words
) -> Html | None:
    """Memory of training, method by method."""
    lead, title = words("pictures.training.lead"), words("pictures.training.title")
    return _picture("training", title, lead, words("column.method"), stacks, capacities, words)


def _picture(name: str, title: str, lead: str, first: str, stacks: Sequence[Stack],
             capacities: Sequence[Capacity], words: Words) -> Html | None:  # fmt: skip
    """None when there is nothing to stack."""
    if not stacks:
        return None
    keys = tuple(dict.fromkeys(part.key for stack in stacks for part in stack.parts))
    top = top_of((stack.total_bytes for stack in stacks), capacities)

    def draw(width: int, uid: str) -> Html:
        return _drawn(width, uid, title, stacks, capacities, keys, top, words)

    return figure(
        name, title, with_lines(lead, capacities, words), draw,
        parts_key(name, [(words(f"part.{key}"), style) for key, style in styles(keys).items()]),
        capacities_key(capacities, top, words),
        _table(title, first, stacks, keys, words),
    )  # fmt: skip


def styles(keys: Sequence[str]) -> dict[str, int]:
    """The number of the colour and texture of each part."""
    free = iter([i for i, known in enumerate(_STYLES) if known not in keys])
    return {key: _STYLES.index(key) if key in _STYLES else next(free, len(keys)) for key in keys}


def _drawn(width: int, uid: str, title: str, stacks: Sequence[Stack],
           capacities: Sequence[Capacity], keys: Sequence[str], top: float,
           words: Words) -> Html:  # fmt: skip
    marks = [(name, one) for name, one in letters(capacities) if one.memory_bytes <= top]
    above = 2 * BADGE + 10 if marks else 4
    totals = max(text_width(words.gib(stack.total_bytes)) for stack in stacks) + 14
    plot = Plot(8, above, width - max(totals, 22), above + _ROW * len(stacks) + 6)
    most = int((plot.right - plot.left) // _TICK_ROOM)
    end = round_up(top / GIB, most)
    scale = Scale(end * GIB, plot.left, plot.right)
    places = [(scale(tick * GIB), words.number(tick, ",g")) for tick in ticks(end, most)]
    pieces: list[Child] = [hatches(uid), axis_x(plot, places, "GiB", grid=True)]
    for i, stack in enumerate(stacks):
        pieces.append(_bar(stack, plot.top + 6 + i * _ROW, scale, styles(keys), uid, words))
    pieces.append(_capacity_lines(marks, plot, scale))
    for i, stack in enumerate(stacks):
        pieces.append(_names(stack, plot.top + 6 + i * _ROW, plot, width, words))
    said = "; ".join(f"{stack.label}: {words.amount(stack.total_bytes)}" for stack in stacks)
    return svg(width, plot.bottom + 44, uid, title, said, pieces)


def _bar(stack: Stack, y: float, scale: Scale, styled: Mapping[str, int], uid: str,
         words: Words) -> Html:  # fmt: skip
    below, pieces = 0, []
    for part in stack.parts:
        start, end = scale(below), scale(below + part.amount_bytes)
        said = f"{words(f'part.{part.key}')}: {words.amount(part.amount_bytes)}"
        index = styled[part.key]
        pieces.append(filled(start, y + FONT + 6, end - start, _BAR, index, uid, said))
        below += part.amount_bytes
    return join(pieces)


def _names(stack: Stack, y: float, plot: Plot, width: int, words: Words) -> Html:
    """The name above its bar, with the detail where there is room; the total beside it."""
    detail = f" {stack.detail}"
    fits = text_width(stack.label + detail) <= plot.right - plot.left
    name = el(
        "text",
        stack.label,
        el("tspan", detail, class_="gs-less") if stack.detail and fits else None,
        x=at(plot.left),
        y=at(y + FONT),
        class_="gs-name",
    )
    total = label(width, y + FONT + 19, words.gib(stack.total_bytes), "end", "gs-name")
    return join((name, total))


def _capacity_lines(marks: Sequence[tuple[str, Capacity]], plot: Plot, scale: Scale) -> Html:
    """A line for each, its letter above it, moved aside where two would touch."""
    places = [scale(one.memory_bytes) for _, one in marks]
    moved = spread(places, 2 * BADGE + 2, plot.left + BADGE, plot.right + BADGE)
    pieces: list[Child] = []
    for (name, _), x, beside in zip(marks, places, moved, strict=True):
        pieces.append(level(x, plot.top, x, plot.bottom))
        pieces.append(line(beside, 2 * BADGE, x, plot.top, "gs-level"))
        pieces.append(badge(beside, BADGE + 1, name))
    return join(pieces)


def _table(title: str, first: str, stacks: Sequence[Stack], keys: Sequence[str],
           words: Words) -> Html:  # fmt: skip
    head = (first, *(f"{words(f'part.{key}')} (GiB)" for key in keys), words("column.total"))
    rows = []
    for stack in stacks:
        amounts = {part.key: words.gib(part.amount_bytes) for part in stack.parts}
        rows.append(
            (stack.label, *(amounts.get(key, "") for key in keys), words.gib(stack.total_bytes))
        )
    return table(title, head, rows, words)
