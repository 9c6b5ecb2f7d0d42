"""An answer as CSV: the ranking, and memory at every quantization."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from gpusizer.api.estimate import EstimateInfo
from gpusizer.api.ranked_gpu import RankedGpu
from gpusizer.api.size import SizeAnswer
from gpusizer.core.printable import printable
from gpusizer.quality.quality import Increase
from gpusizer.speed import Rate

Cell = str | int | float | bool | None
_Row = TypeVar("_Row")

# Writers of cells by the name of a column. Totals are over all GPUs used.
ESTIMATE_COLUMNS: Mapping[str, Callable[[EstimateInfo], Cell]] = {
    "quant": lambda row: row.quant,
    "engine": lambda row: row.engine,
    "native": lambda row: row.native,
    "bits_per_weight": lambda row: row.bits_per_weight,
    "weights_bytes": lambda row: row.weights_bytes,
    "kv_cache_bytes": lambda row: row.kv_cache_bytes,
    "activations_bytes": lambda row: row.activations_bytes,
    "overhead_bytes": lambda row: row.overhead_bytes,
    "total_bytes": lambda row: row.total_bytes,
    "low_bytes": lambda row: row.low_bytes,
    "high_bytes": lambda row: row.high_bytes,
    "quality": lambda row: row.quality.word,
    "perplexity_increase": lambda row: _likely(row.quality.perplexity_increase),
}

# Writers of the cells of a place in the ranking, by the name of a column.
RANKING_COLUMNS: Mapping[str, Callable[[RankedGpu], Cell]] = {
    "rank": lambda place: place.rank,
    "gpu": lambda place: place.gpu_name,
    "count": lambda place: place.count,
    "quant": lambda place: place.quant,
    "engine": lambda place: place.engine,
    "verdict": lambda place: place.verdict,
    "headroom_bytes": lambda place: place.headroom_bytes,
    "per_gpu_bytes": lambda place: place.per_gpu_bytes,
    "decode_tokens_per_second": lambda place: _likely(place.decode_tokens_per_second),
    "prefill_tokens_per_second": lambda place: _likely(place.prefill_tokens_per_second),
    "buy_usd": lambda place: place.price.buy_usd,
    "rent_usd_per_hour": lambda place: place.price.rent_usd_per_hour,
    "usd_per_million_tokens": lambda place: place.price.usd_per_million_tokens,
    "power_watts": lambda place: place.power_watts,
    "buy_condition": lambda place: place.price.buy_condition or place.price.buy_basis,
    "buy_as_of": lambda place: place.price.buy_as_of,
    "buy_low_usd": lambda place: place.price.buy_low_usd,
    "buy_high_usd": lambda place: place.price.buy_high_usd,
    "quality": lambda place: place.quality.word,
    "perplexity_increase": lambda place: _likely(place.quality.perplexity_increase),
}

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def ranking_csv(answer: SizeAnswer) -> str:
    """Return the ranked GPUs, a line each; unknown numbers are empty."""
    return _csv(RANKING_COLUMNS, answer.ranking)


def estimates_csv(answer: SizeAnswer) -> str:
    """Return the memory at every quantization, a line each; totals over all GPUs used."""
    return _csv(ESTIMATE_COLUMNS, answer.estimates)


def inert(cell: Cell) -> Cell:
    """Return the cell in a form that no spreadsheet runs and that shows hidden characters.

    >>> inert("=HYPERLINK(1)"), inert(-5)
    ("'=HYPERLINK(1)", -5)
    """
    if not isinstance(cell, str):
        return cell
    quote = "'" if cell.startswith(_FORMULA_STARTS) else ""
    return quote + printable(cell)


def _csv(columns: Mapping[str, Callable[[_Row], Cell]], rows: Iterable[_Row]) -> str:
    file = io.StringIO()
    lines = csv.writer(file)
    lines.writerow(columns)
    lines.writerows([inert(cell(row)) for cell in columns.values()] for row in rows)
    return file.getvalue()


def _likely(band: Rate | Increase | None) -> float | None:
    return None if band is None else band.likely
