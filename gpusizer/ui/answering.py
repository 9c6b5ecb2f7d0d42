"""What the page asks of the Sizer: one report, its tiers, and cards to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from gpusizer.comparison import Compared, Comparison
from gpusizer.errors import InvalidRequest
from gpusizer.figures.pictures import Pictures, pictures_of
from gpusizer.report import EstimateRow, Report
from gpusizer.sizer import Sizer
from gpusizer.ui.choices import Tier, best_of_each_kind
from gpusizer.ui.presenters.bars import shown_rows
from gpusizer.ui.state import PageState

_TIERS = (
    ("16", ("bf16",), 9.0, 64.0),
    ("8", ("q8_0", "fp8", "int8", "mlx-8bit"), 5.5, 9.0),
    ("4", ("q4_k_m", "awq-int4-g128", "gptq-int4-g128", "nvfp4", "mxfp4", "mlx-4bit"), 0.0, 5.5),
)
"""Name, what people mean by it, and the range of bits in which a checkpoint belongs here."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Everything one page shows about a model, but for the cards side by side.

    Attributes:
        report: with as many ranked GPUs as the page shows.
        whole: the same report with all of them.
    """

    report: Report
    tiers: tuple[Tier, ...]
    whole: Report


def remembering(sizer: Sizer) -> Sizer:
    """The same Sizer for the questions of one answer: it reads a repository once."""
    return sizer.reading(cache(sizer.fetch))


def answer(sizer: Sizer, state: PageState, shown: int) -> PageAnswer:
    """Answer a question, with `shown` ranked GPUs. Raises any GpusizerError."""
    whole = rank(sizer, state, 0)
    report = replace(whole, ranking=whole.ranking[:shown])
    return PageAnswer(report, _tiers(sizer, state, report), whole)


def pictures(sizer: Sizer, state: PageState, whole: Report | None = None) -> Pictures:
    """What is drawn of a report and the picked GPUs. Raises any GpusizerError."""
    report = whole or rank(sizer, state, 0)
    picked = _picked(sizer, state)
    boards = [(item.gpu, item.count or 1) for item in picked]
    fits = [item.ranked.fit for item in picked if item.ranked is not None]
    return pictures_of(report, shown_rows(report.estimates), boards, fits)


def _picked(sizer: Sizer, state: PageState) -> Sequence[Compared]:
    """The picked GPUs with how the model runs on each, or alone where it cannot on one of them."""
    try:
        compared = compare(sizer, state)
    except InvalidRequest:
        compared = sizer.compare({"gpus": list(state.gpus or ())})
    return compared.items if compared else ()


def rank(sizer: Sizer, state: PageState, shown: int) -> Report:
    """The report alone, `shown` 0 for every GPU that runs it. Raises any GpusizerError."""
    return sizer.size({**state.fields, "top": shown})


def compare(sizer: Sizer, state: PageState) -> Comparison | None:
    """The picked GPUs side by side, None when nothing is picked. Raises any GpusizerError."""
    if not state.gpus:
        return None
    fields: dict[str, Any] = {**state.fields, "gpus": list(state.gpus)}
    return sizer.compare(fields)


def _tiers(sizer: Sizer, state: PageState, report: Report) -> tuple[Tier, ...]:
    tiers = []
    for name, usual, above, up_to in _TIERS:
        rows = [row for row in report.estimates if _belongs(row, usual, above, up_to)]
        rows = _one_file(rows, int(name), (report.profile.variant or "").lower())
        if rows:
            slugs = [row.estimate.quant.slug for row in rows]
            asked = {**state.fields, "quant": slugs, "rank_by": "smallest", "top": 0}
            best = best_of_each_kind(sizer.size(asked).ranking)
            tiers.append(Tier(name, _shown(rows), best))
    return tuple(tiers)


def _belongs(row: EstimateRow, usual: Sequence[str], above: float, up_to: float) -> bool:
    quant = row.estimate.quant
    if row.estimate.native:
        return above < quant.bits <= up_to
    return quant.slug in usual and not row.needs_original_weights


def _one_file(rows: list[EstimateRow], bits: int, read: str) -> list[EstimateRow]:
    """Of several files the one nearest in width stands for all, rather the one that was read."""
    files = [row for row in rows if row.estimate.native]
    if len(files) < 2:
        return rows
    quants = {row.estimate.quant.slug: row.estimate.quant for row in files}
    nearest = min(quants, key=lambda slug: (abs(quants[slug].bits - bits), slug != read))
    return [row for row in files if row.estimate.quant.slug == nearest]


def _shown(rows: list[EstimateRow]) -> EstimateRow:
    """The checkpoint itself, else the tier's most faithful quantization."""
    return next((row for row in rows if row.estimate.native), rows[0])
