"""Prints how the constants of speeds hold for GPUs that they were not fitted on, and fits them.

    python -m bench.throughput [--write]

Errors are of every row of `data/measurements/throughput.jsonl`, beside those of the roofline
(bytes / bandwidth) and of one efficiency per engine family; those of answers are in the table of
`python -m bench.accuracy`. `--write` writes the constants and bands that gpusizer uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from bench.evaluation import speed_scores
from bench.speed_scores import Prediction, group_errors
from bench.speed_tables import write_tables

_HEAD = (
    f"{'group':44}{'rows':>5}{'GPUs':>5} │{'blind':>7}{'p80':>7}{'fitted':>8} │{'in band':>8}"
    f" │{'roofline':>9}{'flat':>7}"
)


def main() -> None:
    """Print the table, or write the constants and bands."""
    parser = argparse.ArgumentParser(prog="python -m bench.throughput")
    parser.add_argument("--write", action="store_true", help="write constants and bands")
    arguments = parser.parse_args()
    if arguments.write:
        print("\n".join(write_tables(speed_scores())))
    else:
        print("\n".join(fit_lines(speed_scores().predictions)))


def fit_lines(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yield median errors on GPUs that the constants were not fitted on, in percent."""
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
