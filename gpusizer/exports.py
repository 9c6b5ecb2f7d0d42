"""A report as files that other programs open: CSV of the ranking and of the estimates."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from gpusizer.report import Report

RANKING_COLUMNS = (
    "rank", "gpu", "count", "quant", "engine", "verdict", "headroom_bytes", "per_gpu_bytes",
    "decode_tokens_per_second", "prefill_tokens_per_second", "buy_usd", "rent_usd_per_hour",
    "usd_per_million_tokens", "power_watts",
)  # fmt: skip
ESTIMATE_COLUMNS = (
    "quant", "engine", "native", "bits_per_weight", "weights_bytes", "kv_cache_bytes",
    "activations_bytes", "overhead_bytes", "total_bytes", "low_bytes", "high_bytes",
)  # fmt: skip

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

Cell = str | int | float | bool | None


def ranking_csv(report: Report) -> str:
    """The ranked GPUs, a line each; unknown numbers are empty."""
    return _csv(
        RANKING_COLUMNS,
        (
            (
                item.rank,
                item.fit.gpu.name,
                item.fit.count,
                item.fit.estimate.quant.slug,
                item.fit.estimate.engine.slug,
                item.fit.verdict.value,
                item.fit.headroom_bytes,
                item.fit.estimate.per_gpu.total.likely,
                item.decode.likely if item.decode else None,
                item.prefill.likely if item.prefill else None,
                item.buy_usd,
                item.rent_usd_per_hour,
                item.costs.usd_per_million_tokens,
                item.power_watts,
            )
            for item in report.ranking
        ),
    )


def estimates_csv(report: Report) -> str:
    """Memory at every quantization, a line each; totals over all GPUs used."""
    rows = []
    for row in report.estimates:
        estimate, memory = row.estimate, row.estimate.all_gpus
        rows.append(
            (
                estimate.quant.slug,
                estimate.engine.slug,
                estimate.native,
                row.bits_per_weight,
                memory.weights.likely,
                memory.kv_cache.likely,
                memory.activations.likely,
                (memory.overhead + memory.outside).likely,
                memory.total.likely,
                memory.total.low,
                memory.total.high,
            )
        )
    return _csv(ESTIMATE_COLUMNS, rows)


def inert(cell: Cell) -> Cell:
    """The cell as no spreadsheet would run it.

    >>> inert("=HYPERLINK(1)"), inert(-5)
    ("'=HYPERLINK(1)", -5)
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell


def _csv(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows(map(inert, row) for row in rows)
    return written.getvalue()
