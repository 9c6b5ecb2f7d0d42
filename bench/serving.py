"""Compares servers under load with published runs, and fits the constants behind them.

    python -m bench.serving [--worst N] [--write]

For every run of `data/measurements/serving_load.jsonl` that a request can state it prints errors of
output tokens per second, of the time of each token and of the first token, by source, each source
with the same weight: with the source left out (the main figure), with the request of a reader, who
states users and lengths but no client, with the constants fitted on all runs, and of a plain
roofline (data-sheet rates, no host, no latency of links). `--write` writes the constants and bands
that gpusizer uses.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.served_answers import EACH, FIRST, QUANTITIES, RATE
from bench.serving_cases import ROOFLINE, Case, read_cases
from bench.serving_fit import (
    Factors,
    Problem,
    by_source,
    fit,
    keys_of,
    left_out,
    linearize,
    medians,
)
from gpusizer.serving.constants import (
    BAND_TABLE,
    CONSTANT_TABLE,
    EVERY,
    regime_of,
)
from gpusizer.serving.server import Server

_NAMES = {RATE: "output tokens/s", EACH: "each token", FIRST: "first token"}
_OTHERS = ("asked", "fitted", "roofline")  # columns beside that with the source left out
_INSIDE = 0.82  # so that eight runs in ten are inside where each source weighs the same
_FEWEST = 20

Predicted = Mapping[str, float]


@dataclass(frozen=True)
class Columns:
    """Predictions of every case in four ways, and the factors fitted on all."""

    cases: Sequence[Case]
    factors: Factors
    blind: Sequence[Predicted]
    asked: Sequence[Predicted]
    fitted: Sequence[Predicted]
    roofline: Sequence[Predicted]


def evaluated(cases: Sequence[Case]) -> Columns:
    """Fit on all cases, and without each source."""
    problem = Problem.from_cases(cases)
    theta = fit(problem)
    linear = linearize(problem, theta)
    factors = problem.factors(theta)
    others = {
        source: problem.factors(left_out(problem, theta, linear, source), source)
        for source in {case.source for case in cases}
    }
    return Columns(
        cases,
        factors,
        blind=[case.predicted(others[case.source]) for case in cases],
        asked=[case.asked(others[case.source]) for case in cases],
        fitted=[case.predicted(factors) for case in cases],
        roofline=[case.on(Server.with_constants(case.facts, ROOFLINE)) for case in cases],
    )


def report_lines(columns: Columns, worst: int) -> Iterator[str]:
    """Yield a table for each quantity, its medians, and the largest errors."""
    cases, bands = columns.cases, band_rows(columns)
    yield f"{len(cases)} runs of {len({c.source for c in cases})} sources"
    for quantity in QUANTITIES:
        yield ""
        yield f"── {_NAMES[quantity]} ──"
        yield f"{'source':26}{'runs':>6} │{'left out':>9}{'bias':>7}" + "".join(
            f"{name:>10}" for name in _OTHERS
        )
        blind = by_source(cases, columns.blind, quantity)
        others = [by_source(cases, getattr(columns, name), quantity) for name in _OTHERS]
        for source, errors in sorted(blind.items()):
            yield (
                f"{source:26}{len(errors):>6} │{_middle(np.abs(errors)):>9}{_middle(errors):>7}"
                + "".join(f"{_middle(np.abs(other[source])):>10}" for other in others)
            )
        yield f"{'median of sources':26}{'':>6} │{100 * medians(blind):>9.1f}{'':>7}" + "".join(
            f"{100 * medians(other):>10.1f}" for other in others
        )
        hit, width = _hits(columns, quantity, bands)
        yield f"bands hold {100 * hit:.0f} %, high over low {width:.1f} in the median"
        yield from _worst(columns, quantity, worst)


def _middle(errors: Sequence[float] | np.ndarray) -> str:  # type: ignore[type-arg]
    return f"{100 * float(np.median(errors)):.1f}"


def _worst(columns: Columns, quantity: str, count: int) -> Iterator[str]:
    errors = [
        (predicted[quantity] / case.measured[quantity], case)
        for case, predicted in zip(columns.cases, columns.blind, strict=True)
        if quantity in case.measured and quantity in predicted
    ]
    for ratio, case in sorted(errors, key=lambda e: -abs(math.log(e[0])))[:count]:
        yield f"  {ratio:>8.2f} x measured {case.measured[quantity]:.4g}  {case.row['id']}"


Bands = Mapping[tuple[str, str], tuple[float, float, int]]


def _residuals(columns: Columns, quantity: str) -> Iterator[tuple[str, str, float]]:
    # Measured over the public answer, with the source left out.
    for case, predicted in zip(columns.cases, columns.asked, strict=True):
        if quantity in case.measured and quantity in predicted:
            server = Server.from_facts(case.facts, columns.factors)
            regime = regime_of(case.users, case.rate, server.most)
            yield regime, case.source, case.measured[quantity] / predicted[quantity]


def band_rows(columns: Columns) -> Bands:
    """Return measured over predicted: each regime's narrowest range that holds most runs."""
    bands: dict[tuple[str, str], tuple[float, float, int]] = {}
    for quantity in QUANTITIES:
        rows = list(_residuals(columns, quantity))
        for regime in sorted({r for r, _, _ in rows} | {EVERY}):
            members: dict[str, list[float]] = defaultdict(list)
            for name, source, ratio in rows:
                if regime in (name, EVERY):
                    members[source].append(ratio)
            count = sum(map(len, members.values()))
            if regime == EVERY or (count >= _FEWEST and len(members) > 1):
                low, high = narrowest(members)
                bands[quantity, regime] = (min(1.0, low), max(1.0, high), count)
    return bands


def narrowest(members: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Return the narrowest range of ratios that holds enough of the weight.

    A source weighs as the root of its runs, so that one run is no end. Equal tails would extend to
    the slowest runs.
    """
    pairs = sorted((math.log(x), len(v) ** -0.5) for v in members.values() for x in v)
    values = np.array([value for value, _ in pairs])
    places = np.concatenate([[0.0], np.cumsum([weight for _, weight in pairs])])
    ends = np.searchsorted(places, places[:-1] + _INSIDE * places[-1] - 1e-9) - 1
    starts = np.flatnonzero(ends < len(values))
    best = min(starts, key=lambda start: values[ends[start]] - values[start])
    return math.exp(values[best]), math.exp(values[ends[best]])


def _hits(columns: Columns, quantity: str, bands: Bands) -> tuple[float, float]:
    # Sources have equal weight; the second number is the median of high over low.
    inside: dict[str, list[bool]] = defaultdict(list)
    widths = []
    for regime, source, ratio in _residuals(columns, quantity):
        low, high, _ = bands.get((quantity, regime), bands[quantity, EVERY])
        inside[source].append(low <= ratio <= high)
        widths.append(high / low)
    return float(np.mean([np.mean(v) for v in inside.values()])), float(np.median(widths))


def write_tables(columns: Columns) -> None:
    """Write constants with the numbers of their runs and sources, and bands."""
    runs: dict[tuple[str, str], set[int]] = defaultdict(set)
    for i, case in enumerate(columns.cases):
        for key in keys_of(case):
            runs[key].add(i)
    rows = [
        (
            *key,
            f"{factor:.4g}",
            len(runs[key]),
            len({columns.cases[i].source for i in runs[key]}),
        )
        for key, factor in columns.factors.items()
    ]
    _write(CONSTANT_TABLE, ("constant", "class", "factor", "runs", "sources"), rows)
    bands = [
        (*key, f"{low:.3g}", f"{high:.3g}", count)
        for key, (low, high, count) in band_rows(columns).items()
    ]
    _write(BAND_TABLE, ("quantity", "regime", "low", "high", "runs"), bands)


def _write(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def main() -> None:
    """Print the tables, and write the constants if requested."""
    parser = argparse.ArgumentParser(prog="python -m bench.serving")
    parser.add_argument("--worst", type=int, default=3, help="worst runs shown of each quantity")
    parser.add_argument("--write", action="store_true", help="write constants and bands")
    arguments = parser.parse_args()
    columns = evaluated(read_cases())
    print("\n".join(report_lines(columns, arguments.worst)))
    if arguments.write:
        write_tables(columns)


if __name__ == "__main__":
    main()
