"""How far predicted speeds are from published ones, each GPU predicted without its own runs.

    python -m bench.throughput [--file PATH ...] [--worst N] [--write] [--update-baseline]

Reads `data/measurements/throughput.jsonl` (or files in that form), fits the constants of every
class without the runs of the GPU that is being predicted, and prints median errors beside those
of the plain roofline (bytes over bandwidth) and of one efficiency per engine family. `--write`
writes the constants and bands that gpusizer uses; `--update-baseline` the errors that
`tests/test_throughput.py` holds the project to, and refuses to raise them for the same rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import speed_baseline
from bench.measurements import load
from bench.speed_cases import TABLE, read_cases
from bench.speed_report import report_lines
from bench.speed_scores import Scores, score
from bench.speed_tables import write_tables


def main() -> None:
    """Print the tables, or write what follows from them."""
    parser = argparse.ArgumentParser(prog="python -m bench.throughput")
    parser.add_argument("--file", type=Path, action="append", help="rows to score instead")
    parser.add_argument("--worst", type=int, default=5, help="worst rows shown")
    parser.add_argument("--write", action="store_true", help="write constants and bands")
    parser.add_argument("--update-baseline", action="store_true")
    arguments = parser.parse_args()
    rows = load(arguments.file or (TABLE,))
    scores = score(read_cases(rows))
    if arguments.write:
        print("\n".join(write_tables(scores)))
    elif arguments.update_baseline:
        _update(scores)
    else:
        print("\n".join(report_lines(rows, scores, arguments.worst)))


def _update(scores: Scores) -> None:
    worse = speed_baseline.raised(scores, speed_baseline.read(), grown=False)
    if worse:
        raise SystemExit("\n".join(["not written; these would grow:", *worse]))
    print(f"{speed_baseline.write(scores)} groups in {speed_baseline.BASELINE.name}")


if __name__ == "__main__":
    main()
