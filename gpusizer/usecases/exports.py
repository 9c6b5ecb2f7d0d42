"""A report's JSON as CSV: the ranking, and memory at every quantization."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from gpusizer.core.printable import printable
from gpusizer.usecases.contract.answers import SizeAnswer

ESTIMATE_COLUMNS = {
    "quant": "quant",
    "engine": "engine",
    "native": "native",
    "bits_per_weight": "bits_per_weight",
    "weights_bytes": "weights_bytes",
    "kv_cache_bytes": "kv_cache_bytes",
    "activations_bytes": "activations_bytes",
    "overhead_bytes": "overhead_bytes",
    "total_bytes": "total_bytes",
    "low_bytes": "low_bytes",
    "high_bytes": "high_bytes",
    "quality": "quality.word",
    "perplexity_increase": "quality.perplexity_increase.likely",
}
"""Name of a column -> where its value stands in an estimate of the contract; the first known of
several. Totals are over all GPUs used."""
RANKING_COLUMNS = {
    "rank": "rank",
    "gpu": "gpu_name",
    "count": "count",
    "quant": "quant",
    "engine": "engine",
    "verdict": "verdict",
    "headroom_bytes": "headroom_bytes",
    "per_gpu_bytes": "per_gpu_bytes",
    "decode_tokens_per_second": "decode_tokens_per_second.likely",
    "prefill_tokens_per_second": "prefill_tokens_per_second.likely",
    "buy_usd": "price.buy_usd",
    "rent_usd_per_hour": "price.rent_usd_per_hour",
    "usd_per_million_tokens": "price.usd_per_million_tokens",
    "power_watts": "power_watts",
    "buy_condition": "price.buy_condition|price.buy_basis",
    "buy_as_of": "price.buy_as_of",
    "buy_low_usd": "price.buy_low_usd",
    "buy_high_usd": "price.buy_high_usd",
    "quality": "quality.word",
    "perplexity_increase": "quality.perplexity_increase.likely",
}
"""Name of a column -> where its value is in a place of the ranking."""

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

Cell = str | int | float | bool | None


def ranking_csv(report: SizeAnswer) -> str:
    """The ranked GPUs, a line each; unknown numbers are empty."""
    return _csv(RANKING_COLUMNS, report["ranking"])


def estimates_csv(report: SizeAnswer) -> str:
    """Memory at every quantization, a line each; totals over all GPUs used."""
    return _csv(ESTIMATE_COLUMNS, report["estimates"])


def inert(cell: Cell) -> Cell:
    """The cell as no spreadsheet would run it, and no reader be deceived by it.

    >>> inert("=HYPERLINK(1)"), inert(-5)
    ("'=HYPERLINK(1)", -5)
    """
    if not isinstance(cell, str):
        return cell
    quote = "'" if cell.startswith(_FORMULA_STARTS) else ""
    return quote + printable(cell)


def _csv(columns: Mapping[str, str], rows: Iterable[Mapping[str, object]]) -> str:
    file = io.StringIO()
    lines = csv.writer(file)
    lines.writerow(columns)
    lines.writerows([inert(_at(row, path)) for path in columns.values()] for row in rows)
    return file.getvalue()


def _at(row: Mapping[str, object], paths: str) -> Cell:
    """The value at a path of names, None where a part of it is unknown."""
    for path in paths.split("|"):
        value: object = row
        for name in path.split("."):
            value = value[name] if isinstance(value, dict) else None
        if isinstance(value, str | int | float):
            return value
    return None
