"""Stacked memory bars: one scale from zero, in GiB, with the sizes of common cards."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.memory import Breakdown
from gpusizer.report import EstimateRow, Report
from gpusizer.ui.presenters.figures import percent
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.marks import PARTS, part_bytes, parts_legend
from gpusizer.ui.presenters.words import Words
from gpusizer.units import GIB

_CARD_SIZES_GIB = (
    1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256, 384, 512, 640, 1024, 1536, 2048,
)  # fmt: skip
_CLOSEST_TICKS = 0.07  # of the scale: closer labels would touch on a phone
_SHOWN = (
    "bf16", "fp8", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "awq-int4-g128", "mlx-4bit", "q3_k_m",
    "q2_k",
)  # fmt: skip
"""Levels people know by name; the table has all of them."""


def bars_html(report: Report, words: Words) -> Html:
    """A bar for each well-known level and for the checkpoint as stored."""
    rows = shown_rows(report.estimates)
    scale = max(row.estimate.all_gpus.total.high for row in rows)
    ticks = card_ticks(scale)
    return el(
        "div",
        parts_legend(words),
        el(
            "div",
            el("div", join(_tick(size, scale) for size in ticks), class_="gs-axis"),
            join(_row(row, scale, ticks, words) for row in rows),
            class_="gs-bars",
        ),
        el("p", words("bars.note"), class_="gs-small"),
    )


def shown_rows(rows: Sequence[EstimateRow]) -> list[EstimateRow]:
    """The checkpoint, and the well-known levels its weights can still be brought to."""
    known = [
        row
        for row in rows
        if row.estimate.native
        or (row.estimate.quant.slug in _SHOWN and not row.needs_original_weights)
    ]
    return known or list(rows)


def card_ticks(scale_bytes: float) -> list[int]:
    """Card sizes within the scale, far enough apart to be read, the largest kept first."""
    kept: list[int] = []
    next_place = float("inf")
    for size in reversed(_CARD_SIZES_GIB):
        place = size * GIB / scale_bytes
        if _CLOSEST_TICKS < place <= min(1, next_place - _CLOSEST_TICKS):
            kept.append(size)
            next_place = place
    return kept[::-1]


def segments(memory: Breakdown, scale_bytes: float, words: Words) -> list[Html]:
    """The coloured parts of one bar."""
    return [
        el(
            "span",
            class_=f"gs-{part}",
            style=f"width:{percent(amount, scale_bytes)}",
            title=f"{words(f'part.{part}')}: {words.amount(amount)}",
        )
        for part, amount in part_bytes(memory).items()
        if part in PARTS
    ]


def _tick(size_gib: int, scale: float) -> Html:
    return el("span", str(size_gib), style=f"left:{percent(size_gib * GIB, scale)}")


def _row(row: EstimateRow, scale: float, ticks: Sequence[int], words: Words) -> Html:
    estimate = row.estimate
    total = estimate.all_gpus.total
    lines = [el("i", style=f"left:{percent(size * GIB, scale)}") for size in ticks]
    whisker = el(
        "b",
        style=f"left:{percent(total.low, scale)};width:{percent(total.high - total.low, scale)}",
        title=words("tile.band", low=words.amount(total.low), high=words.amount(total.high)),
    )
    chip = el("span", words("as_stored"), class_="gs-chip") if estimate.native else None
    return el(
        "div",
        el("div", el("strong", estimate.quant.name), chip, el("small", estimate.engine.name),
           class_="gs-bar-name"),
        el("div", join(lines), join(segments(estimate.all_gpus, scale, words)), whisker,
           class_="gs-bar"),
        el("div", words.gib(total.likely), class_="gs-bar-total"),
        class_="gs-bar-row",
    )  # fmt: skip
