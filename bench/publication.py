"""The errors as the page and the README show them: `data/accuracy.json` and a Markdown table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from bench.comparison import ALL, Comparison, RivalSummary, Summary
from bench.evaluation import ALL_SOURCES, STATED, SWEEP, Accuracy, Key
from bench.hf_mem_answers import AUTO, NAMED, versions
from gpusizer.accuracy import (
    FILE,
    AccuracyTable,
    ErrorRow,
    accuracy_from_json,
    percent_text,
    rival_text,
)
from gpusizer.paths import DATA_DIR

README = DATA_DIR.parent / "README.md"
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"
_SECTIONS = {
    ALL_SOURCES: "all",
    f"without {SWEEP}": "others",
    f"only {SWEEP}": "sweep",
    STATED: "stated",
}
_APART = ("others", "sweep", "stated")
_SHARE_DIGITS, _AMOUNT_DIGITS = 4, 3


def published(accuracy: Accuracy, as_of: str) -> dict[str, Any]:
    """What `data/accuracy.json` holds: one row per engine and component, over all variants."""
    return {
        "as_of": as_of,
        "rows": {kind: list(counts) for kind, counts in accuracy.coverage.items()},
        "out_of_memory": accuracy.out_of_memory,
        "said_fits": len(accuracy.said_fits),
        "sweep": SWEEP,
        "hf_mem": versions(),
        "sections": {
            _SECTIONS[title]: _rows(errors, accuracy.members[title])
            for title, errors in accuracy.sections.items()
        },
    }


def _rows(errors: Mapping[Key, Summary], of: list[Comparison]) -> list[dict[str, Any]]:
    plain = {(one.engine, one.component) for one in of if not one.in_bytes}
    rows = [
        {
            "engine": engine,
            "component": component,
            "n": summary.n,
            **{name: _share(getattr(summary, name)) for name in ("median", "mean", "bias", "p95")},
            "mean_gib": None
            if (engine, component) in plain
            else round(summary.mean_amount, _AMOUNT_DIGITS),
            "naive_mean": _share(summary.naive_mean),
            "hf_mem": summary.hf_mem and _rival(summary.hf_mem),
            "worst": _worst(engine, component, of),
        }
        for (engine, component, variant), summary in errors.items()
        if variant == ALL
    ]
    largest = Counter[str]()
    for row in rows:
        largest[row["engine"]] += row["n"]
    return sorted(rows, key=lambda row: (-largest[row["engine"]], row["engine"]))


def _rival(summary: RivalSummary) -> dict[str, Any]:
    errors = {name: _share(getattr(summary, name)) for name in ("mean", "median", "named_mean")}
    counts = {name: getattr(summary, name) for name in ("answered", "asked", "named_answered")}
    return {**errors, **counts}


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, _SHARE_DIGITS)


def _worst(engine: str, component: str, of: list[Comparison]) -> dict[str, Any]:
    rows = [one for one in of if (one.engine, one.component) == (engine, component)]
    furthest = max(rows, key=lambda one: (abs(one.relative), one.row_id))
    return {"relative": _share(furthest.relative), "source_url": furthest.source_url}


def publish(accuracy: Accuracy, path: Path = FILE) -> AccuracyTable:
    """Write the file; a date changes only with the numbers."""
    made = published(accuracy, date.today().isoformat())
    if path.is_file():
        before = json.loads(path.read_text("utf-8"))
        if {**made, "as_of": ""} == {**before, "as_of": ""}:
            made = before
    path.write_text(_pretty(made), "utf-8")
    return accuracy_from_json(made)


def _pretty(data: Mapping[str, Any]) -> str:
    """One row of a section per line, so that changes can be read."""
    sections = ",\n".join(
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in rows) + "\n  ]"
        for name, rows in data["sections"].items()
    )
    head = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in data.items() if k != "sections"]
    return "{\n" + ",\n".join([*head, f' "sections": {{\n{sections}\n }}']) + "\n}\n"


def markdown(table: AccuracyTable) -> str:
    """The table of the README, markers included."""
    lines = [
        BEGIN,
        f"{table.measured:,} published measurements, {table.predicted:,} of them with a prediction,"
        f" as of {table.as_of}. Mean, median and 95th percentile are of absolute errors, as shares"
        " of the measured value; *naive* is parameters × bytes, the usual cache formula and 20 %"
        f" on top; *hf-mem* is hf-mem {table.hf_mem}, asked with the row's own settings: its mean"
        " error over the rows it answered, and how many those are of the rows it could be asked"
        " about ([how](data/measurements/README.md#hf_memcsv)). One laboratory's sweep is shown"
        " apart below the rest.",
        "",
        *_markdown_rows(table.sections.get("all", ())),
        *_more_of_hf_mem(table.sections.get("all", ())),
        "",
        f"vLLM without the largest sweep (`{table.sweep}`, one host), that sweep alone, and all"
        " runs that a request can state (*stated*: no adapters, trainers or other tenants beside"
        " the engine, no patched engine):",
        "",
        *_markdown_rows(
            tuple(row for name in _APART for row in table.sections.get(name, ())),
            [name for name in _APART for _ in table.sections.get(name, ())],
        ),
        END,
    ]
    return "\n".join(lines)


def _more_of_hf_mem(rows: tuple[ErrorRow, ...]) -> list[str]:
    """Its medians, as it is near in most rows and far in some; and its other answers."""
    found = [(f"{row.engine} {row.component}", row.hf_mem) for row in rows if row.hf_mem]
    medians = [f"{name} {percent_text(errors.median)}" for name, errors in found]
    named = [
        f"{name} {rival_text(replace(errors, plain=errors.named))}"
        for name, errors in found
        if errors.named != errors.plain
    ]
    told = f"With `--kv-cache-dtype {NAMED}` wherever a row says `{AUTO}`, its means"
    said = [f"Medians of hf-mem's errors: {'; '.join(medians)}."] if medians else []
    said += [f"{told}: {'; '.join(named)}."] if named else []
    return ["", " ".join(said)] if said else []


def _markdown_rows(rows: tuple[ErrorRow, ...], where: list[str] | None = None) -> list[str]:
    head = ["engine", "component", "n", "median", "mean", "bias", "p95", "mean GiB", "naive mean",
            "hf-mem", "worst"]  # fmt: skip
    labels = where or [row.engine for row in rows]
    return [
        "| " + " | ".join(head if where is None else ["rows", *head[1:]]) + " |",
        "|---|---|" + "--:|" * 9,
        *(
            f"| {label} | {row.component} | {row.n} | {percent_text(row.median)}"
            f" | {percent_text(row.mean)} | {percent_text(row.bias, signed=True)}"
            f" | {percent_text(row.p95)} | {'—' if row.mean_gib is None else f'{row.mean_gib:.2f}'}"
            f" | {percent_text(row.naive_mean)} | {rival_text(row.hf_mem)}"
            f" | [{percent_text(row.worst, signed=True)}]({row.worst_url}) |"
            for label, row in zip(labels, rows, strict=True)
        ),
    ]


def with_table(readme: str, table: AccuracyTable) -> str:
    """A README with its table up to date. Raises ValueError when the markers are missing."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(readme):
        raise ValueError("README has no accuracy markers")
    return pattern.sub(lambda _: markdown(table), readme)


def write_readme(table: AccuracyTable, path: Path = README) -> None:
    """Put the table between its markers."""
    path.write_text(with_table(path.read_text("utf-8"), table), "utf-8")
