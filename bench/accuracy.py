"""How far predictions are from published measurements.

    python -m bench.accuracy [--file PATH ...] [--worst N] [--json] [--update-baseline]
    python -m bench.accuracy --publish --write-readme
    python -m bench.accuracy --training [--worst N] [--update-baseline]

Reads `data/measurements` (or files in that format), predicts every row with the code that
answers users, and prints the errors per engine and component, one row per repeated
configuration, beside those of a naive calculator. The largest laboratory's rows are also shown
apart. `--update-baseline` writes the errors that `tests/test_accuracy.py` holds the project to,
and refuses to raise any of them for the same rows. `--publish` writes `data/accuracy.json`, which
the page shows; `--write-readme` also puts it into the README. `--training` does the same for the
peaks of training runs, which have a table and a baseline of their own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench import training, training_baseline
from bench.accuracy_report import report_json, report_lines
from bench.baseline import BASELINE, raised, read, write
from bench.evaluation import ALL_SOURCES, Accuracy, evaluate
from bench.measurements import TRAINING, load
from bench.publication import publish, write_readme


def main() -> None:
    """Print the tables, or hold the baseline to them."""
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy")
    parser.add_argument("--file", type=Path, action="append", help="rows to score instead")
    parser.add_argument("--worst", type=int, default=3, help="worst rows shown per component")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--update-baseline", action="store_true")
    parser.add_argument("--publish", action="store_true", help="write data/accuracy.json")
    parser.add_argument("--write-readme", action="store_true", help="publish, in the README too")
    parser.add_argument("--training", action="store_true", help="peaks of training runs")
    arguments = parser.parse_args()
    if arguments.training:
        _training(arguments.file or [TRAINING], arguments.worst, arguments.update_baseline)
        return
    accuracy = evaluate(load(arguments.file) if arguments.file else load())
    if arguments.update_baseline:
        _update(accuracy)
    elif arguments.publish or arguments.write_readme:
        table = publish(accuracy)
        if arguments.write_readme:
            write_readme(table)
        print(f"published as of {table.as_of}")
    elif arguments.json:
        print(json.dumps(report_json(accuracy, arguments.worst), ensure_ascii=False, indent=1))
    else:
        print("\n".join(report_lines(accuracy, arguments.worst)))


def _training(paths: list[Path], worst: int, update: bool) -> None:
    rows = load(paths)
    if update:
        print(training_baseline.update(rows))
    else:
        print("\n".join(training.report_lines(rows, worst)))


def _update(accuracy: Accuracy) -> None:
    errors = accuracy.sections[ALL_SOURCES]
    if BASELINE.is_file():
        worse = raised(errors, read(), grown=False)
        if worse:
            raise SystemExit("\n".join(["not written; these would grow:", *worse]))
    write(errors)
    print(f"{len(errors)} components in {BASELINE.name}")


if __name__ == "__main__":
    main()
