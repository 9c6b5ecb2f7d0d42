"""The page's calls of the Sizer: one report, its tiers, and cards to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpusizer.answers.comparison import ComparedGpu, Comparison
from gpusizer.answers.figures.pictures import Pictures, pictures_of
from gpusizer.answers.report import EstimateRow, Report
from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import InvalidRequest
from gpusizer.ui.choices import Tier, best_of_each_kind
from gpusizer.ui.page_state import PageState
from gpusizer.ui.picked_memory import on_possible_gpus
from gpusizer.ui.presenters.bars import shown_rows

_TIERS = (
    ("16", ("bf16",), 9.0, 64.0),
    ("8", ("q8_0", "fp8", "int8", "mlx-8bit"), 5.5, 9.0),
    ("4", ("q4_k_m", "awq-int4-g128", "gptq-int4-g128", "nvfp4", "mxfp4", "mlx-4bit"), 0.0, 5.5),
)
"""Name of a tier, quantizations that people mean by it, and range of bits of its checkpoints."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The content of a page about a model: a report that ranks every GPU, and its tiers."""

    report: Report
    tiers: tuple[Tier, ...]


def remembering(sizer: Sizer) -> Sizer:
    """Return a Sizer for all requests of one answer, which reads each repository once."""
    return sizer.reading(cache(sizer.fetch))


def answer(sizer: Sizer, state: PageState) -> PageAnswer:
    """Answer the question of a page. Raises any GpusizerError."""
    report = rank(sizer, state)
    return PageAnswer(report, _tiers(sizer, state, report))


def pictures(sizer: Sizer, state: PageState) -> Pictures:
    """Return the data of pictures of a report and the picked GPUs. Raises any GpusizerError."""
    report = rank(sizer, state)
    compared = _picked(sizer, state)
    boards = [(item.gpu, item.count or 1) for item in compared]
    fits = [item.ranked.fit for item in compared if item.ranked is not None]
    return pictures_of(report, shown_rows(report.estimates), boards, fits)


def _picked(sizer: Sizer, state: PageState) -> Sequence[ComparedGpu]:
    """Compare the picked GPUs with the model, or without it where one of them cannot run it."""
    try:
        compared = compare(sizer, state)
    except InvalidRequest:
        compared = sizer.compare({"gpus": list(state.gpus or ())})
    return compared.items if compared else ()


def rank(sizer: Sizer, state: PageState, top: int = 0) -> Report:
    """Return the report with the first `top` GPUs, or all for 0. Raises any GpusizerError."""
    return sizer.size({**state.about_every_gpu.fields, "top": top})


def compare(sizer: Sizer, state: PageState) -> Comparison | None:
    """Compare the picked GPUs; None when no GPU is picked. Raises any GpusizerError."""
    if not state.gpus:
        return None
    state, _ = on_possible_gpus(state, sizer.catalogue)
    fields: dict[str, Any] = {**state.fields, "gpus": list(state.gpus or ())}
    return sizer.compare(fields)


def _tiers(sizer: Sizer, state: PageState, report: Report) -> tuple[Tier, ...]:
    tiers = []
    for name, tier_slugs, bits_above, up_to in _TIERS:
        rows = [row for row in report.estimates if _belongs(row, tier_slugs, bits_above, up_to)]
        rows = _one_file(rows, int(name), (report.profile.variant or "").lower())
        if rows:
            slugs = [row.estimate.quant.slug for row in rows]
            fields = {
                **state.about_every_gpu.fields,
                "quant": slugs,
                "rank_by": "smallest",
                "top": 0,
            }
            fields["requests_per_second"] = None  # the plan is the report's
            best = best_of_each_kind(sizer.size(fields).ranking)
            tiers.append(Tier(name, _shown(rows), best))
    return tuple(tiers)


def _belongs(row: EstimateRow, slugs: Sequence[str], bits_above: float, up_to: float) -> bool:
    quant = row.estimate.quant
    if row.estimate.native:
        return bits_above < quant.bits <= up_to
    return quant.slug in slugs and not row.needs_original_weights


def _one_file(rows: list[EstimateRow], bits: int, read_slug: str) -> list[EstimateRow]:
    """Keep one of several GGUF files: the nearest to `bits`; among equals the one that was read."""
    files = [row for row in rows if row.estimate.native]
    if len(files) < 2:
        return rows
    quants = {row.estimate.quant.slug: row.estimate.quant for row in files}
    nearest = min(quants, key=lambda slug: (abs(quants[slug].bits - bits), slug != read_slug))
    return [row for row in files if row.estimate.quant.slug == nearest]


def _shown(rows: list[EstimateRow]) -> EstimateRow:
    """Choose the checkpoint itself, else the tier's most faithful quantization."""
    return next((row for row in rows if row.estimate.native), rows[0])
