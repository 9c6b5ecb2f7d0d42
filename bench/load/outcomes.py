"""What came of calls: answers, refusals that say when to come again, errors; and their seconds."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

REFUSALS = frozenset({"hub_rate_limited", "hub_unreachable", "server_busy", "too_many_requests"})
"""Codes of errors that are not the caller's, nor ours: Gradio's answers have no status."""
_RETRY_STATUSES = frozenset({429, 503})
_OK = frozenset({200, 304})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call.

    Attributes:
        seconds: from the first byte sent to the last byte received.
        status: of HTTP; 0 where the connection broke.
        code: of the error object, if there is one.
        retry_after_seconds: of the header `Retry-After`, None without it.
        size_bytes: of the answer, uncompressed.
    """

    seconds: float
    status: int
    code: str = ""
    retry_after_seconds: float | None = None
    size_bytes: int = 0

    @property
    def kind(self) -> str:
        """ "ok", "refused" (explicitly, with a time to come again) or "error"."""
        if self.status in _OK:
            return "refused" if self.code in REFUSALS else "error" if self.code else "ok"
        is_explicit = self.status in _RETRY_STATUSES and self.retry_after_seconds is not None
        return "refused" if is_explicit else "error"


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of many calls; percentiles are of those that were answered, in milliseconds."""

    calls: int
    answered: int
    refused: int
    errors: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    errors_by: Counter[str]


def figures(outcomes: Sequence[Outcome], wall_seconds: float) -> Figures:
    """Sum up calls that together took so many seconds of the clock."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    milliseconds = [outcome.seconds * 1000 for outcome in outcomes if outcome.kind == "ok"]
    cuts = _percentiles(milliseconds)
    errors = Counter(
        f"{outcome.status} {outcome.code}".strip()
        for outcome in outcomes
        if outcome.kind == "error"
    )
    return Figures(
        calls=len(outcomes),
        answered=kinds["ok"],
        refused=kinds["refused"],
        errors=kinds["error"],
        per_second=kinds["ok"] / wall_seconds,
        p50_ms=cuts[49],
        p95_ms=cuts[94],
        p99_ms=cuts[98],
        errors_by=errors,
    )


def _percentiles(values: Sequence[float]) -> list[float]:
    if len(values) < 2:
        return [values[0] if values else float("nan")] * 99
    return statistics.quantiles(values, n=100, method="inclusive")
