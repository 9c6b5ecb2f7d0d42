"""The table that the scenarios print, a row for each thing that visitors met."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bench.load.outcomes import Outcome, figures

_COLUMNS = ("calls", "per s", "p50 ms", "p95 ms", "p99 ms", "refused", "errors")
_FACTS = ("processor ms a call", "Hub requests per model", "MB before", "MB after")


@dataclass(frozen=True, slots=True)
class Row:
    """What visitors met: outcomes of their calls, and what is known beside them.

    Attributes:
        name: what was done.
        outcomes: of all calls.
        wall_seconds: that they took together.
        hub_requests: to the emulated Hub for each model that was asked about.
        bytes_before: resident memory of the application before, None where it does not matter.
        bytes_after: the same afterwards.
        processor_seconds: that the application took for all calls together.
        remark: anything else in a few words.
    """

    name: str
    outcomes: Sequence[Outcome]
    wall_seconds: float
    hub_requests: float | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    processor_seconds: float | None = None
    remark: str = ""


def print_head() -> None:
    """Print the head of the table."""
    columns = ("", *_COLUMNS, *_FACTS, "remark")
    print(f"| {' | '.join(columns)} |")
    print(f"|---|{'---:|' * (len(columns) - 2)}---|", flush=True)


def print_row(row: Row) -> float:
    """Print a row; return the answers in a second. Kinds of errors go to standard error."""
    summed = figures(row.outcomes, row.wall_seconds)
    cells = [
        row.name,
        f"{summed.calls:,}",
        f"{summed.per_second:.1f}",
        *(_milliseconds(value) for value in (summed.p50_ms, summed.p95_ms, summed.p99_ms)),
        f"{summed.refused:,}",
        f"{summed.errors:,}",
        _processor_ms(row),
        "" if row.hub_requests is None else f"{row.hub_requests:.2f}",
        _megabytes(row.bytes_before),
        _megabytes(row.bytes_after),
        row.remark,
    ]
    print(f"| {' | '.join(cells)} |", flush=True)
    for kind, count in summed.errors_by.most_common(5):
        print(f"{row.name}: {count} × {kind}", file=sys.stderr)
    return summed.per_second


def _processor_ms(row: Row) -> str:
    if row.processor_seconds is None or not row.outcomes:
        return ""
    return f"{1000 * row.processor_seconds / len(row.outcomes):.1f}"


def _milliseconds(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1f}"


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value / 1e6:.0f}"
