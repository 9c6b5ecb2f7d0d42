"""A report as pandas frames, and as CSV: the ranking, and memory at every quantization."""

from __future__ import annotations

import pandas as pd

from gpusizer.answers.report import EstimateRow, Report
from gpusizer.core.printable import printable
from gpusizer.fit.ranking import Ranked

RANKING_COLUMNS = (
    "rank",
    "gpu",
    "count",
    "quant",
    "engine",
    "verdict",
    "headroom_bytes",
    "per_gpu_bytes",
    "decode_tokens_per_second",
    "prefill_tokens_per_second",
    "buy_usd",
    "rent_usd_per_hour",
    "usd_per_million_tokens",
    "power_watts",
    "buy_condition",
    "buy_as_of",
    "buy_low_usd",
    "buy_high_usd",
)
ESTIMATE_COLUMNS = (
    "quant",
    "engine",
    "native",
    "bits_per_weight",
    "weights_bytes",
    "kv_cache_bytes",
    "activations_bytes",
    "overhead_bytes",
    "total_bytes",
    "low_bytes",
    "high_bytes",
)

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

Cell = str | int | float | bool | None


def ranking_frame(report: Report) -> pd.DataFrame:
    """The ranked GPUs, a row each: bytes, US dollars, tokens per second and watts; None if unknown.

    The columns hold Python objects, so that whole numbers stay whole beside unknown ones.
    """
    rows = [_ranked(item) for item in report.ranking]
    return pd.DataFrame(rows, columns=list(RANKING_COLUMNS), dtype=object)


def estimates_frame(report: Report) -> pd.DataFrame:
    """Memory in bytes at every quantization, a row each; totals over all GPUs used."""
    rows = [_estimate(row) for row in report.estimates]
    return pd.DataFrame(rows, columns=list(ESTIMATE_COLUMNS), dtype=object)


def ranking_csv(report: Report) -> str:
    """The ranked GPUs, a line each; unknown numbers are empty."""
    return _csv(ranking_frame(report))


def estimates_csv(report: Report) -> str:
    """Memory at every quantization, a line each; totals over all GPUs used."""
    return _csv(estimates_frame(report))


def inert(cell: Cell) -> Cell:
    """The cell as no spreadsheet would run it, and no reader be deceived by it.

    >>> inert("=HYPERLINK(1)"), inert(-5)
    ("'=HYPERLINK(1)", -5)
    """
    if not isinstance(cell, str):
        return cell
    quote = "'" if cell.startswith(_FORMULA_STARTS) else ""
    return quote + printable(cell)


def _ranked(item: Ranked) -> dict[str, Cell]:
    estimate, costs, buy = item.fit.estimate, item.costs, item.costs.buy
    return {
        "rank": item.rank,
        "gpu": item.fit.gpu.name,
        "count": item.fit.count,
        "quant": estimate.quant.slug,
        "engine": estimate.engine.slug,
        "verdict": item.fit.verdict.value,
        "headroom_bytes": item.fit.headroom_bytes,
        "per_gpu_bytes": estimate.per_gpu.total.likely,
        "decode_tokens_per_second": item.decode.likely if item.decode else None,
        "prefill_tokens_per_second": item.prefill.likely if item.prefill else None,
        "buy_usd": item.buy_usd,
        "rent_usd_per_hour": item.rent_usd_per_hour,
        "usd_per_million_tokens": costs.usd_per_million_tokens,
        "power_watts": item.power_watts,
        "buy_condition": buy.condition or buy.basis if buy else None,
        "buy_as_of": costs.buy_as_of,
        "buy_low_usd": costs.of_all(buy.low_usd) if buy else None,
        "buy_high_usd": costs.of_all(buy.high_usd) if buy else None,
    }


def _estimate(row: EstimateRow) -> dict[str, Cell]:
    estimate, memory = row.estimate, row.estimate.all_gpus
    return {
        "quant": estimate.quant.slug,
        "engine": estimate.engine.slug,
        "native": estimate.native,
        "bits_per_weight": row.bits_per_weight,
        "weights_bytes": memory.weights.likely,
        "kv_cache_bytes": memory.kv_cache.likely,
        "activations_bytes": memory.activations.likely,
        "overhead_bytes": (memory.overhead + memory.outside).likely,
        "total_bytes": memory.total.likely,
        "low_bytes": memory.total.low,
        "high_bytes": memory.total.high,
    }


def _csv(frame: pd.DataFrame) -> str:
    return frame.map(inert).to_csv(index=False, lineterminator="\r\n")
