"""A report as pandas frames, and as CSV: the ranking, and memory at every quantization."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from gpusizer.answers.report import Report, estimate_json
from gpusizer.core.printable import printable
from gpusizer.fit.losses import quality_at
from gpusizer.fit.ranking import Ranked
from gpusizer.gpus import Price
from gpusizer.memory.estimate import MemoryEstimate

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
    "quality",
    "perplexity_increase",
)
"""Names in the estimates of a report's JSON; of `quality` the word and the likely increase."""

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

Cell = str | int | float | bool | None


_RANKING: dict[str, Callable[[Ranked], Cell]] = {
    "rank": lambda item: item.rank,
    "gpu": lambda item: item.fit.gpu.name,
    "count": lambda item: item.fit.count,
    "quant": lambda item: item.fit.estimate.quant.slug,
    "engine": lambda item: item.fit.estimate.engine.slug,
    "verdict": lambda item: item.fit.verdict.value,
    "headroom_bytes": lambda item: item.fit.headroom_bytes,
    "per_gpu_bytes": lambda item: item.fit.estimate.per_gpu.total.likely,
    "decode_tokens_per_second": lambda item: item.decode.likely if item.decode else None,
    "prefill_tokens_per_second": lambda item: item.prefill.likely if item.prefill else None,
    "buy_usd": lambda item: item.buy_usd,
    "rent_usd_per_hour": lambda item: item.rent_usd_per_hour,
    "usd_per_million_tokens": lambda item: item.costs.usd_per_million_tokens,
    "power_watts": lambda item: item.power_watts,
    "buy_condition": lambda item: _of_price(item, lambda buy: buy.condition or buy.basis),
    "buy_as_of": lambda item: item.costs.buy_as_of,
    "buy_low_usd": lambda item: _of_price(item, lambda buy: item.costs.of_all(buy.low_usd)),
    "buy_high_usd": lambda item: _of_price(item, lambda buy: item.costs.of_all(buy.high_usd)),
    "quality": lambda item: _loss(item.fit.estimate)["quality"],
    "perplexity_increase": lambda item: _loss(item.fit.estimate)["perplexity_increase"],
}
RANKING_COLUMNS = tuple(_RANKING)


def _of_price(item: Ranked, read: Callable[[Price], Cell]) -> Cell:
    return None if item.costs.buy is None else read(item.costs.buy)


def _loss(estimate: MemoryEstimate) -> dict[str, Cell]:
    """The word for what the quantization loses, and the likely share; None for pictures."""
    quality = quality_at(estimate)
    likely = quality.increase.to_json()["likely"] if quality.increase else None
    return {"quality": quality.word.value, "perplexity_increase": likely}


def ranking_frame(report: Report) -> pd.DataFrame:
    """The ranked GPUs, a row each: bytes, US dollars, tokens per second and watts; None if unknown.

    The columns hold Python objects, so that whole numbers stay whole beside unknown ones.
    """
    rows = [[read(item) for read in _RANKING.values()] for item in report.ranking]
    return pd.DataFrame(rows, columns=list(RANKING_COLUMNS), dtype=object)


def estimates_frame(report: Report) -> pd.DataFrame:
    """Memory in bytes at every quantization, a row each; totals over all GPUs used."""
    rows = [
        {**estimate_json(row, report.workload), **_loss(row.estimate)} for row in report.estimates
    ]
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


def _csv(frame: pd.DataFrame) -> str:
    return frame.map(inert).to_csv(index=False, lineterminator="\r\n")
