"""Stacked memory bars: of quantizations or of methods of training in GiB, on one scale from zero
with lines at the visitor's cards; of one GPU, with what stays free or is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.units import GIB
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.memory.breakdown import Breakdown
from gpusizer.ui.presenters.pieces.html import el, join
from gpusizer.ui.presenters.pieces.losses import loss_mark
from gpusizer.ui.presenters.pieces.marks import PARTS, legend, native_chip
from gpusizer.ui.presenters.pieces.number_format import percent
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity
from gpusizer.usecases.report import EstimateRow, Report

_CARD_SIZES_GIB = (
    *(1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256),
    *(384, 512, 640, 1024, 1536, 2048),
)
"""Sizes of common cards: ticks of the bars' scale."""
_WELL_KNOWN = frozenset(
    {
        "bf16",
        "fp8",
        "q8_0",
        "q6_k",
        "q5_k_m",
        "q4_k_m",
        "awq-int4-g128",
        "mlx-4bit",
        "q3_k_m",
        "q2_k",
    }
)
"""Quantizations that people know by name; the table below the bars has all."""
_NEAREST = 1.6  # the scale extends to a card of at most so many times the largest bar
_CLOSEST_TICKS = 0.07  # share of the scale; closer labels would touch on a phone


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """One bar: its name, its parts by what the page's words call them, and its total."""

    name: Markup
    parts: Mapping[str, int]
    total: Amount


def bars_html(report: Report, cards: Sequence[Capacity], words: Words) -> Markup:
    """Draw a bar for each well-known quantization and for the checkpoint as stored."""
    bars = [_bar(row, words) for row in shown_rows(report.estimates)]
    return memory_bars(bars, PARTS, cards, words)


def memory_bars(
    bars: Sequence[MemoryBar],
    parts: Sequence[str],
    cards: Sequence[Capacity],
    words: Words,
) -> Markup:
    """Draw bars on one scale, with ticks at sizes of common cards and a named line at each of the
    visitor's `cards`."""
    scale = max(bar.total.high for bar in bars)
    seen = [card for card in cards if card.memory_bytes <= _NEAREST * scale]
    scale = max(scale, *(card.memory_bytes for card in seen), 0)
    ticks = card_ticks(scale)
    marks = [el("span", str(size), style=f"left:{percent(size * GIB, scale)}") for size in ticks]
    lines = [
        *(el("i", style=f"left:{percent(size * GIB, scale)}") for size in ticks),
        *(el("i", class_="gs-yours", style=_left(card, scale)) for card in seen),
    ]
    return el(
        "div",
        legend(
            (el("span", class_=f"gs-swatch gs-{part}"), words(f"part.{part}")) for part in parts
        ),
        el(
            "div",
            join(_card_name(card, scale, words) for card in seen),
            el("div", join(marks), el("small", "GiB"), class_="gs-axis"),
            join(_row(bar, parts, scale, lines, words) for bar in bars),
            class_="gs-bars",
        ),
        el("p", words("bars.note"), class_="gs-small"),
    )


def _left(card: Capacity, scale_bytes: float) -> str:
    return f"left:{percent(card.memory_bytes, scale_bytes)}"


def _card_name(card: Capacity, scale_bytes: float, words: Words) -> Markup:
    """Write a card's name and memory where its line begins, left of it beyond the middle."""
    said = words("bars.yours", gpu=card.label, amount=words.amount(card.memory_bytes))
    side = "gs-before" if card.memory_bytes > scale_bytes / 2 else None
    return el(
        "div", el("span", said, class_=side, style=_left(card, scale_bytes)), class_="gs-card"
    )


def shown_rows(rows: Sequence[EstimateRow]) -> list[EstimateRow]:
    """Choose the checkpoint, and the well-known quantizations that its weights can still get."""
    well_known = [
        row
        for row in rows
        if row.estimate.native
        or (row.estimate.quant.slug in _WELL_KNOWN and not row.needs_original_weights)
    ]
    return well_known or list(rows)


def card_ticks(scale_bytes: float) -> list[int]:
    """Choose card sizes within the scale, from the largest down, whose labels do not touch."""
    ticks: list[int] = []
    next_place = float("inf")
    for size in reversed(_CARD_SIZES_GIB):
        place = size * GIB / scale_bytes
        if _CLOSEST_TICKS < place <= min(1, next_place - _CLOSEST_TICKS):
            ticks.append(size)
            next_place = place
    return ticks[::-1]


def segments(memory: Breakdown, scale_bytes: float, words: Words) -> list[Markup]:
    """Draw the coloured parts of one bar."""
    amounts = memory.likely_bytes.items()
    return [_part(part, amount, scale_bytes, words) for part, amount in amounts if part in PARTS]


def _part(name: str, amount_bytes: int, scale_bytes: float, words: Words) -> Markup:
    return el(
        "span",
        class_=f"gs-{name}",
        style=f"width:{percent(amount_bytes, scale_bytes)}",
        title=f"{words(f'part.{name}')}: {words.amount(amount_bytes)}",
    )


def bar_bytes(fit: Fit) -> int:
    """How far the bar of one GPU reaches: to its capacity, or to what a model needs beyond it."""
    return max(fit.gpu.device_free_bytes, fit.estimate.per_gpu.total.likely)


def capacity_bar(fit: Fit, scale_bytes: int, words: Words) -> Markup:
    """Draw the use of one GPU's memory, as long as its share of the scale that bars beside it have
    too; use beyond it is drawn past the line of its capacity."""
    capacity, memory, reach = fit.gpu.device_free_bytes, fit.estimate.per_gpu, bar_bytes(fit)
    used, free = memory.total.likely, max(0, fit.headroom_bytes or 0)
    unused = {"free": free, "reserve": max(0, capacity - used - free)}
    rest = [_part(name, amount, reach, words) for name, amount in unused.items()]
    limit = None
    if used > capacity:
        limit = el("b", style=f"left:{percent(capacity, reach)}", title=words.amount(capacity))
    return el(
        "div",
        join(segments(memory, reach, words)),
        join(rest),
        limit,
        class_="gs-bar gs-bar-over" if limit else "gs-bar",
        style=f"width:{percent(reach, scale_bytes)}",
    )


def _bar(row: EstimateRow, words: Words) -> MemoryBar:
    estimate = row.estimate
    named = join(
        (
            el("strong", estimate.quant.name),
            native_chip(estimate, words),
            el("small", estimate.engine.name, " · ", loss_mark(quality_at(estimate), words)),
        )
    )
    return MemoryBar(named, estimate.all_gpus.likely_bytes, estimate.all_gpus.total)


def _row(
    bar: MemoryBar, parts: Sequence[str], scale: float, lines: Sequence[Markup], words: Words
) -> Markup:
    total = bar.total
    whisker = el(
        "b",
        style=f"left:{percent(total.low, scale)};width:{percent(total.high - total.low, scale)}",
        title=words.amount_band(total),
    )
    drawn = join(_part(part, bar.parts[part], scale, words) for part in parts if part in bar.parts)
    return el(
        "div",
        el("div", bar.name, class_="gs-bar-name"),
        el("div", join(lines), drawn, whisker, class_="gs-bar"),
        el("div", words.gib(total.likely), class_="gs-bar-total"),
        class_="gs-bar-row",
    )
