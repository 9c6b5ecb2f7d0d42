"""Compares the speeds of answers with published ones, and fits the constants behind them.

    python -m bench.throughput [--file PATH ...] [--worst N] [--write]

For every row of `data/measurements/throughput.jsonl` (or files in that form) it makes the request
that a user would make and prints errors in three columns (`bench/evaluation.py`). A second table
has the errors of constants on GPUs that they were not fitted on, beside those of the roofline
(bytes / bandwidth) and of one efficiency per engine family. `--write` writes the constants and
bands that gpusizer uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from bench.accuracy import section_lines
from bench.evaluation import Accuracy, evaluate, speed_scores
from bench.measurements import SPEEDS, load
from bench.speed_scores import Prediction, group_errors
from bench.speed_tables import write_tables

_HEAD = (
    f"{'group':44}{'rows':>5}{'GPUs':>5} │{'blind':>7}{'p80':>7}{'fitted':>8} │{'in band':>8}"
    f" │{'roofline':>9}{'flat':>7}"
)


def main() -> None:
    """Print the tables, or write the constants and bands."""
    parser = argparse.ArgumentParser(prog="python -m bench.throughput")
    parser.add_argument("--file", type=Path, action="append", help="rows to score instead")
    parser.add_argument("--worst", type=int, default=5, help="worst rows shown")
    parser.add_argument("--write", action="store_true", help="write constants and bands")
    arguments = parser.parse_args()
    if arguments.write:
        print("\n".join(write_tables(speed_scores())))
        return
    accuracy = evaluate(load(arguments.file or (SPEEDS,)))
    print("\n".join(report_lines(accuracy, arguments.worst)))
    print("\n".join(fit_lines(speed_scores().predictions)))


def report_lines(accuracy: Accuracy, worst: int) -> Iterator[str]:
    """Yield the lines of coverage, the three columns, and the rows with the largest errors."""
    for rows, compared in accuracy.coverage.values():
        yield f"{rows} rows, {compared} compared with an answer"
    for section, errors in accuracy.sections.items():
        yield from section_lines(section, errors)
    yield ""
    yield "worst, all rows"
    order = accuracy.comparisons["relative"].abs().sort_values(ascending=False).index
    for row in accuracy.comparisons.loc[order].head(worst).itertuples():
        yield (
            f"  {row.relative:>+8.1%} {row.component} measured {row.measured:.4g}, answered"
            f" {row.predicted:.4g}  {row.row_id}  {row.source_url}"
        )


def fit_lines(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yield median errors on GPUs that the constants were not fitted on, in percent."""
    yield ""
    yield "the fit; blind: constants of the class without the GPU's own rows"
    yield _HEAD
    yield from map(_line, group_errors(predictions).itertuples())


def _line(row: Any) -> str:
    return (
        f"{row.Index:44}{row.n:>5}{row.gpus:>5} │{_percent(row.blind):>7}{_percent(row.p80):>7}"
        f"{_percent(row.fitted):>8} │{_percent(row.in_band):>8}"
        f" │{_percent(row.roofline):>9}{_percent(row.flat):>7}"
    )


def _percent(value: float) -> str:
    return "-" if pd.isna(value) else f"{100 * value:.1f}"


if __name__ == "__main__":
    main()
