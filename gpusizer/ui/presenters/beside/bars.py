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
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.quality.quality import Quality
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity
from gpusizer.usecases.report import EstimateRow, Report

PARTS = ("weights", "kv_cache", "activations", "overhead")
"""The parts of every memory bar of a model that answers, from the left."""
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
_NEAREST = 1.6  # the scale extends to a card of at most this multiple of the largest bar
_CLOSEST_TICKS = 0.07  # share of the scale; closer labels would touch on a phone


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """One bar: its name, its parts by what the page's words call them, and its total.

    Attributes:
        estimate: of the quantization that the bar is of, if any.
        quality: what that quantization loses.
    """

    name: str
    parts: Mapping[str, int]
    total: Amount
    estimate: MemoryEstimate | None = None
    quality: Quality | None = None


@dataclass(frozen=True, slots=True)
class _CapacityBar:
    """The bar of one GPU.

    Attributes:
        reach_bytes: its length, to the capacity or to what a model needs beyond it.
    """

    capacity_bytes: int
    reach_bytes: int
    parts: Mapping[str, int]


def bars_html(report: Report, cards: Sequence[Capacity], words: Words) -> Markup:
    """Draw a bar for each well-known quantization and for the checkpoint as stored."""
    bars = [_bar(row) for row in shown_rows(report.estimates)]
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
    drawn = {"bars": bars, "parts": parts, "cards": seen, "ticks": card_ticks(scale)}
    return render("bars.html", words, scale=scale, gib=GIB, **drawn)


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


def bar_bytes(fit: Fit) -> int:
    """How far the bar of one GPU reaches: to its capacity, or to what a model needs beyond it."""
    return max(fit.gpu.device_free_bytes, fit.estimate.per_gpu.total.likely)


def capacity_bar(fit: Fit, scale_bytes: int, said: str, words: Words) -> Markup:
    """Draw the use of one GPU's memory, as long as its share of the scale that bars beside it have
    too, and write what is `said` of it."""
    capacity, memory = fit.gpu.device_free_bytes, fit.estimate.per_gpu
    used, free = memory.total.likely, max(0, fit.headroom_bytes or 0)
    parts = {part: size for part, size in memory.likely_bytes.items() if part in PARTS}
    parts |= {"free": free, "reserve": max(0, capacity - used - free)}
    return piece("fit", words, _CapacityBar(capacity, bar_bytes(fit), parts), scale_bytes, said)


def _bar(row: EstimateRow) -> MemoryBar:
    estimate, memory = row.estimate, row.estimate.all_gpus
    name, quality = estimate.quant.name, quality_at(estimate)
    return MemoryBar(name, memory.likely_bytes, memory.total, estimate, quality)
