"""Benchmark results published with a repository: a folded section, nothing without any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.hub.published_results import PublishedResult
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words

MOST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class _Row:
    benchmark: str
    measure: str  # task and metric
    value: str
    by: str
    day: str
    source: str
    source_url: str | None
    notes: str | None


def published_results_html(results: Sequence[PublishedResult], words: Words) -> Markup:
    """Write the results, each with who states it and its day."""
    if not results:
        return Markup()
    rows = list(_rows(results[:MOST_SHOWN], words))
    more = len(results) - len(rows)
    return render("published_results.html", words, count=len(results), rows=rows, more=more)


def _rows(results: Sequence[PublishedResult], words: Words) -> Iterator[_Row]:
    for item in results:
        yield _Row(
            benchmark=item.benchmark,
            measure=" · ".join(part for part in (item.task, item.metric) if part),
            value=words.number(item.value, "g"),
            by=words(f"results.by.{item.by}"),
            day=item.date or words("results.undated"),
            source=item.source_name or (words("results.source") if item.source_url else ""),
            source_url=item.source_url,
            notes=item.notes,
        )
