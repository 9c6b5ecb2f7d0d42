"""Errors as tables for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from bench.comparison import ALL, Comparison, RivalSummary, Summary
from bench.evaluation import ALL_SOURCES, TOLERANCES, Accuracy, Key
from bench.hf_mem_answers import AUTO, NAMED
from gpusizer.units import GIB

_HEAD = (
    f"{'engine':13}{'component':17}{'of':20}{'n':>4} │{'median':>8}{'mean':>8}{'bias':>8}{'p95':>8}"
    f" │{'mean':>8}{'p95':>8} │{'within':>7} │{'naive':>8}{'naive':>8}"
    f" │{'hf-mem':>8}{'answers':>9}"
)
_UNITS = (
    f"{'':54} │{'%':>8}{'%':>8}{'%':>8}{'%':>8} │{'GiB':>8}{'GiB':>8} │{'%':>7} │{'%':>8}{'GiB':>8}"
    f" │{'%':>8}{'':>9}"
)
_WIDE = 99_999  # percentages beyond this say only "far"


def report_lines(accuracy: Accuracy, worst: int) -> Iterator[str]:
    """Every table, then the worst rows with their sources."""
    for kind, (rows, predicted) in accuracy.coverage.items():
        yield f"{kind}: {rows} rows, {predicted} with a prediction"
    yield "hf-mem: mean error over the rows it answered, of those it was asked about"
    yield "mean and p95 are of absolute errors; GiB columns of max_concurrency are sequences"
    for title, errors in accuracy.sections.items():
        yield ""
        yield f"── {title} ──"
        yield _HEAD
        yield _UNITS
        yield from (_line(key, summary) for key, summary in errors.items())
    yield ""
    yield from _named_lines(accuracy.sections[ALL_SOURCES])
    yield (
        f"runs out of memory on a card of known size: {accuracy.out_of_memory},"
        f" of which we say they fit: {len(accuracy.said_fits)} {' '.join(accuracy.said_fits)}"
    )
    yield from _worst_lines(accuracy.comparisons, worst)


def _line(key: Key, summary: Summary) -> str:
    engine, component, variant = key
    shares = (summary.median, summary.mean, summary.bias, summary.p95)
    return (
        f"{engine:13}{component:17}{variant:20}{summary.n:>4} │{''.join(map(_percent, shares))}"
        f" │{summary.mean_amount:>8.3f}{summary.p95_amount:>8.3f} │{summary.within:>7.0%}"
        f" │{_percent(summary.naive_mean)}{_amount(summary.naive_mean_amount)}"
        f" │{_rival(summary.hf_mem)}"
    )


def _rival(summary: RivalSummary | None) -> str:
    if summary is None:
        return f"{'-':>8}{'':>9}"
    return f"{_percent(summary.mean)}{f'{summary.answered}/{summary.asked}':>9}"


def _named_lines(errors: Mapping[Key, Summary]) -> Iterator[str]:
    """hf-mem's other answer, where naming the cache type changes it."""
    for (engine, component, variant), summary in errors.items():
        found = summary.hf_mem
        if found is None or variant != ALL or found.named_is_alike:
            continue
        yield (
            f"hf-mem told `--kv-cache-dtype {NAMED}` where a row says {AUTO}: {engine} {component}"
            f"{_percent(found.named_mean)} %, {found.named_answered}/{found.asked} answered"
        )


def _percent(share: float | None) -> str:
    if share is None:
        return f"{'-':>8}"
    return f"{share * 100:>8.2f}" if abs(share) * 100 < _WIDE else f"{'far':>8}"


def _amount(amount: float | None) -> str:
    return f"{'-':>8}" if amount is None else f"{amount:>8.3f}"


def worst_rows(
    comparisons: Iterable[Comparison], count: int
) -> dict[tuple[str, str], list[Comparison]]:
    """The rows furthest off per engine and component, worst first."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in comparisons:
        groups.setdefault((one.engine, one.component), []).append(one)
    return {
        key: sorted(groups[key], key=lambda one: -abs(one.relative))[:count]
        for key in sorted(groups, key=lambda key: (key[0], list(TOLERANCES).index(key[1])))
    }


def _worst_lines(comparisons: Iterable[Comparison], count: int) -> Iterator[str]:
    for (engine, component), rows in worst_rows(comparisons, count).items():
        yield ""
        yield f"worst: {engine} {component}"
        for one in rows:
            unit = GIB if one.in_bytes else 1
            yield (
                f"  {one.relative:>+9.1%}  measured {one.measured / unit:.4g},"
                f" predicted {one.predicted / unit:.4g}  {one.row_id}  {one.source_url}"
            )


def report_json(accuracy: Accuracy, worst: int) -> dict[str, Any]:
    """The same as one JSON object; errors as shares and GiB."""
    return {
        "coverage": {
            kind: {"rows": rows, "predicted": predicted}
            for kind, (rows, predicted) in accuracy.coverage.items()
        },
        "sections": {title: _errors(errors) for title, errors in accuracy.sections.items()},
        "out_of_memory": {"runs": accuracy.out_of_memory, "said_fits": accuracy.said_fits},
        "worst": [
            {**asdict(one), "relative": one.relative}
            for rows in worst_rows(accuracy.comparisons, worst).values()
            for one in rows
        ],
    }


def _errors(errors: Mapping[Key, Summary]) -> list[dict[str, Any]]:
    return [
        {"engine": engine, "component": component, "variant": variant, **asdict(summary)}
        for (engine, component, variant), summary in errors.items()
    ]
