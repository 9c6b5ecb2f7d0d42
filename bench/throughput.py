"""Prints the errors of speed constants on GPUs outside of the fit, and fits them.

    python -m bench.throughput [--write]

Errors are of every row of `data/measurements/throughput.jsonl`, next to those of the roofline
(bytes / bandwidth) and of one efficiency per engine family; those of answers are in the table of
`python -m bench.accuracy`. `--write` writes the constants and bands that gpusizer uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from bench.evaluation import speed_scores
from bench.speed_scores import Prediction, group_errors
from bench.speed_tables import write_tables


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
    errors = group_errors(predictions)
    shares = ["blind", "p80", "fitted", "in_band", "roofline", "flat"]
    errors[shares] = 100 * errors[shares].astype(float)
    table = errors[["n", "gpus", *shares]]
    yield table.to_string(na_rep="-", float_format="{:.1f}".format)


if __name__ == "__main__":
    main()
