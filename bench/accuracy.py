"""Compares the answers that users get with published measurements.

    python -m bench.accuracy [--training] [--file PATH ...] [--worst N]
    python -m bench.accuracy --update-baseline
    python -m bench.accuracy --publish --write-docs

For every row of `data/measurements` (or of files in that form) it makes the request that a user
would make, reads the public JSON, and prints errors in three columns (`bench/evaluation.py`).
`--training` prints the training runs alone, by framework and method. `--update-baseline` writes the
errors that the tests allow at most, and refuses to raise any of them for the same rows. `--publish`
writes `data/generated/accuracy.json`; `--write-docs` also writes `docs/accuracy.md`, which the page
shows, and the headline of the README.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from bench import baseline, training
from bench.evaluation import (
    APART,
    COMPONENTS,
    Accuracy,
    Columns,
    Key,
    evaluate,
    published_accuracy,
)
from bench.measurements import TRAINING, load
from bench.publication import publish, write_docs
from bench.rivals import AUTO, NAMED

_HELD_DIGITS = 4
_LEFT_OUT = ("median", "mean", "bias", "p95", "in_band")


def main() -> None:
    """Print the tables, or write the file that the options name."""
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy")
    parser.add_argument("--file", type=Path, action="append", help="rows to score instead")
    parser.add_argument("--worst", type=int, default=3, help="worst rows shown per component")
    parser.add_argument("--update-baseline", action="store_true")
    parser.add_argument("--baseline", type=Path, default=baseline.FILE, help="the file to update")
    parser.add_argument("--publish", action="store_true", help="write accuracy.json")
    parser.add_argument("--write-docs", action="store_true", help="publish, in the documents too")
    parser.add_argument("--training", action="store_true", help="peaks of training runs")
    arguments = parser.parse_args()
    if arguments.training:
        rows = load(arguments.file or [TRAINING])
        print("\n".join(training.report_lines(rows, arguments.worst)))
        return
    accuracy = evaluate(load(arguments.file)) if arguments.file else published_accuracy()
    if arguments.update_baseline:
        print(baseline.update(baseline_errors(accuracy), arguments.baseline))
    elif arguments.publish or arguments.write_docs:
        table = publish(accuracy)
        if arguments.write_docs:
            write_docs(table)
        print(f"published as of {table.as_of}")
    else:
        print("\n".join(report_lines(accuracy, arguments.worst)))


def baseline_errors(accuracy: Accuracy) -> dict[str, dict[str, float]]:
    """Return the numbers of `accuracy_baseline.json`, by names such as "vllm weights".

    They are the mean error of each component with its source left out, and the number of wrong
    verdicts.
    """
    errors: dict[str, dict[str, float]] = {
        " ".join(key): {
            "n": columns.all_rows.n,
            "error": round(columns.left_out.mean, _HELD_DIGITS),
        }
        for section, components in accuracy.sections.items()
        if section != APART
        for key, columns in components.items()
    }
    verdicts = accuracy.verdicts
    for name, runs, wrong in (
        ("said to fit", verdicts.out_of_memory, verdicts.said_fits),
        ("said not to fit", verdicts.ran, verdicts.said_not),
    ):
        if runs:
            errors[name] = {"n": runs, "error": len(wrong)}
    return errors


def report_lines(accuracy: Accuracy, worst: int) -> Iterator[str]:
    """Yield the lines of all tables, then of the worst rows with their sources."""
    for kind, (rows, compared) in accuracy.coverage.items():
        yield f"{kind}: {rows} rows, {compared} compared with an answer"
    yield "errors in % of the measured value; hf-mem: over the rows it answered"
    for section, errors in accuracy.sections.items():
        yield from section_lines(section, errors)
    yield ""
    for errors in accuracy.sections.values():
        yield from _named_lines(errors)
    verdicts = accuracy.verdicts
    yield _wrong("ran out of memory", verdicts.out_of_memory, "fit", verdicts.said_fits)
    yield _wrong("ran", verdicts.ran, "not to fit", verdicts.said_not)
    yield from _worst_lines(accuracy.comparisons, worst)


def section_lines(section: str, errors: Mapping[Key, Columns]) -> Iterator[str]:
    """Yield the lines of one section's table."""
    yield f"\n── {section} ──"
    frame = pd.DataFrame([_cells(key, columns) for key, columns in errors.items()])
    shown = frame.astype(object).where(frame.notna(), "-")
    yield shown.to_string(index=False, float_format="{:.2f}".format)


def _wrong(outcome: str, runs: int, verdict: str, names: tuple[str, ...]) -> str:
    return f"{outcome}: {runs}, of which we say {verdict}: {len(names)} {' '.join(names)}"


def _cells(key: Key, columns: Columns) -> dict[str, object]:
    # Counts, and errors in percent of the measured value.
    rows, left_out, contact = columns.all_rows, columns.left_out, columns.contact
    rival = rows.hf_mem
    shares = {
        **{name: getattr(rows, name) for name in ("median", "mean", "bias", "p95")},
        **{f"left out: {name}": getattr(left_out, name) for name in _LEFT_OUT},
        "first contact": contact and contact.mean,
        "naive": rows.naive_mean,
        "hf-mem": rival and rival.mean,
    }
    counts = {"n": rows.n, "sources": left_out.sources, "arrived": contact and contact.n}
    percents = {name: _percent(share) for name, share in shares.items()}
    answers = None if rival is None else f"{rival.answered}/{rival.asked}"
    return (
        dict(zip(("engine", "component"), key, strict=True))
        | counts
        | percents
        | {"answers": answers}
    )


def _named_lines(errors: Mapping[Key, Columns]) -> Iterator[str]:
    # hf-mem's errors with an explicit cache type, if they differ.
    for (engine, component), columns in errors.items():
        rival = columns.all_rows.hf_mem
        if rival is None or rival.named_is_alike:
            continue
        yield (
            f"hf-mem told `--kv-cache-dtype {NAMED}` where a row says {AUTO}: {engine} {component}"
            f" {100 * (rival.named_mean or 0):.2f} %, {rival.named_answered}/{rival.asked} answered"
        )


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def worst_rows(comparisons: pd.DataFrame, count: int) -> dict[Key, pd.DataFrame]:
    """Return the comparisons with the largest errors per engine and component, largest first."""
    furthest_first = comparisons.sort_values(
        "relative", key=lambda relative: -relative.abs(), kind="stable"
    )
    groups = {
        (str(engine), str(component)): rows.head(count)
        for (engine, component), rows in furthest_first.groupby(["engine", "component"])
    }
    return dict(sorted(groups.items(), key=lambda g: (g[0][0], COMPONENTS.index(g[0][1]))))


def _worst_lines(comparisons: pd.DataFrame, count: int) -> Iterator[str]:
    for (engine, component), rows in worst_rows(comparisons, count).items():
        yield ""
        yield f"worst: {engine} {component}"
        for row in rows.itertuples():
            yield (
                f"  {row.relative:>+9.1%}  measured {row.measured / row.unit:.4g},"
                f" predicted {row.predicted / row.unit:.4g}  {row.row_id}  {row.source_url}"
            )


if __name__ == "__main__":
    main()
