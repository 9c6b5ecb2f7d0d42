"""Writes the errors to `accuracy.json`, `docs/accuracy.md` and the README's headline."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from bench import agreement, quality
from bench.accuracy_table import (
    FILE,
    AccuracyTable,
    AuthorRow,
    ErrorRow,
    QualityErrors,
    SpeedsLeftOut,
    accuracy_from_json,
    rival_text,
)
from bench.authors import author_rows
from bench.errors import RivalSummary, Shared
from bench.evaluation import APART, MEMORY, SPEED, Accuracy, Columns, Key
from bench.first_contact import not_fitted_on
from bench.rivals import AUTO, NAMED, versions
from bench.speed_left_out import KINDS, errors_left_out
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import toml_of
from gpusizer.core.units import percent_text
from gpusizer.quality.evidence import read_rows
from gpusizer.text import say_note

README = DATA_DIR.parent / "README.md"
DOCUMENT = DATA_DIR.parent / "docs" / "accuracy.md"
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"
_SHARE_DIGITS, _AMOUNT_DIGITS = 4, 3
_TEXTS = toml_of(__file__)
_TITLES: Mapping[str, str] = _TEXTS["titles"]


def published(accuracy: Accuracy, as_of: str) -> dict[str, Any]:
    """Return the content of `accuracy.json`: a row per engine and component."""
    verdicts = accuracy.verdicts
    return {
        "as_of": as_of,
        "rows": {kind: list(counts) for kind, counts in accuracy.coverage.items()},
        "out_of_memory": verdicts.out_of_memory,
        "said_fits": len(verdicts.said_fits),
        "ran": verdicts.ran,
        "said_not": len(verdicts.said_not),
        "hf_mem": versions(),
        "authors": author_rows(),
        "quality": quality_errors(),
        "speeds_left_out": errors_left_out(accuracy) if SPEED in accuracy.sections else [],
        "sections": {
            name: _rows(accuracy.sections[name], _of_section(accuracy.comparisons, name))
            for name in _TITLES
            if name in accuracy.sections
        },
    }


@cache
def quality_errors() -> dict[str, float | int]:
    """Return errors of expected losses with the source of each row left out.

    These are a factor between increases of perplexity, at the median and for 80 % of rows, and how
    often band and word hold.
    """
    rows = [row for row in read_rows() if row["id"] not in not_fitted_on()]
    errors = quality.errors_of(quality.score(rows, "source", quality.bands_only()))
    return {
        "n": len(errors),
        "median_factor": round(float(errors["factor"].median()), 2),
        "p80_factor": round(float(errors["factor"].quantile(0.8)), 2),
        "in_band": round(float(errors["held"].mean()), _SHARE_DIGITS),
        "word_exact": round(float((errors["steps"] == 0).mean()), _SHARE_DIGITS),
        "word_near": round(float((errors["steps"] <= 1).mean()), _SHARE_DIGITS),
    }


def _of_section(comparisons: pd.DataFrame, section: str) -> pd.DataFrame:
    return comparisons[comparisons["apart"].astype(bool) == (section == APART)]


def _rows(errors: Mapping[Key, Columns], comparisons: pd.DataFrame) -> list[dict[str, Any]]:
    # Engines with the most comparisons come first.
    rows = []
    for (engine, component), columns in errors.items():
        of_both = (comparisons["engine"] == engine) & (comparisons["component"] == component)
        everything = columns.all_rows
        shares = {name: getattr(everything, name) for name in ("median", "mean", "bias", "p95")}
        amount = everything.mean_amount
        row = {
            "engine": engine,
            "component": component,
            "n": everything.n,
            **{name: _share(value) for name, value in shares.items()},
            "mean_gib": None if amount is None else round(amount, _AMOUNT_DIGITS),
            "left_out": _shared(columns.left_out),
            "first_contact": columns.contact and _shared(columns.contact),
            "naive_mean": _share(everything.naive_mean),
            "hf_mem": everything.hf_mem and _rival(everything.hf_mem),
            "worst": _worst(comparisons[of_both]),
        }
        rows.append(row)
    count = comparisons["engine"].value_counts()
    return sorted(rows, key=lambda row: (-count[row["engine"]], row["engine"]))


def _shared(errors: Shared) -> dict[str, Any]:
    shares = ("median", "mean", "p95", "bias", "in_band")
    return {
        "n": errors.n,
        "sources": errors.sources,
        **{name: _share(getattr(errors, name)) for name in shares},
    }


def _rival(summary: RivalSummary) -> dict[str, Any]:
    errors = {name: _share(getattr(summary, name)) for name in ("mean", "median", "named_mean")}
    counts = {name: getattr(summary, name) for name in ("answered", "asked", "named_answered")}
    return {**errors, **counts}


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, _SHARE_DIGITS)


def _worst(comparisons: pd.DataFrame) -> dict[str, Any]:
    # Of several equal ones the last by the row's ID.
    sizes = comparisons.assign(size=comparisons["relative"].abs())
    furthest = sizes.sort_values(["size", "row_id"]).iloc[-1]
    return {"relative": _share(furthest["relative"]), "source_url": furthest["source_url"]}


def publish(accuracy: Accuracy, path: Path = FILE) -> AccuracyTable:
    """Write the file; its date changes only if the numbers do."""
    table = published(accuracy, date.today().isoformat())
    if path.is_file():
        old_data = json.loads(path.read_text("utf-8"))
        if {**table, "as_of": ""} == {**old_data, "as_of": ""}:
            table = old_data
    path.write_text(_pretty(table), "utf-8")
    return accuracy_from_json(table)


def _pretty(data: Mapping[str, Any]) -> str:
    # One row of a section per line, so that its diff is easy to read.
    sections = ",\n".join(
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in rows) + "\n  ]"
        for name, rows in data["sections"].items()
    )
    lists = ("sections", "authors")
    head = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in data.items() if k not in lists]
    authors = ",\n".join(f"  {json.dumps(row)}" for row in data["authors"])
    head.append(f' "authors": [\n{authors}\n ]')
    return "{\n" + ",\n".join([*head, f' "sections": {{\n{sections}\n }}']) + "\n}\n"


def document(table: AccuracyTable) -> str:
    """Return the text of `docs/accuracy.md`."""
    lines = [_TEXTS["head"].format(table=table)]
    if table.quality is not None:
        lines += ["", _quality_line(table.quality)]
    for name, title in _TITLES.items():
        if table.sections.get(name):
            lines += ["", f"## {title}", "", *_markdown_rows(table.sections[name])]
        if name == SPEED and table.speeds_left_out:
            lines += ["", *_left_out_rows(table.speeds_left_out)]
        if name == MEMORY:
            lines += _more_of_hf_mem(table.sections.get(name, ()))
        if name == APART and table.sections.get(name):
            lines += ["", _TEXTS["apart"]]
    if table.authors:
        lines += ["", *_authors(table.authors)]
    lines += ["", *agreement.section(agreement.read())]
    return "\n".join([*lines, ""])


def _left_out_rows(rows: Sequence[SpeedsLeftOut]) -> list[str]:
    # Median and mean errors with the source, the card or the generation of each row left out.
    heads = (
        "component",
        "n",
        *(f"{kind}: {name}" for kind in KINDS for name in ("median", "mean")),
    )
    return [
        _TEXTS["left_out"].strip(),
        "",
        f"| {' | '.join(heads)} |",
        "|---|" + "--:|" * (len(heads) - 1),
        *(
            f"| {row.component} | {row.n} | "
            + " | ".join(percent_text(share) for kind in KINDS for share in getattr(row, kind))
            + " |"
            for row in rows
        ),
    ]


def _quality_line(errors: QualityErrors) -> str:
    names = ("in_band", "word_exact", "word_near")
    shares = {name: percent_text(getattr(errors, name)) for name in names}
    return str(_TEXTS["quality"].format(errors=errors, **shares))


def _authors(rows: Sequence[AuthorRow]) -> list[str]:
    # With the counts of claims above and below the need.
    counts = Counter(row.verdict for row in rows)
    cells = (
        (row.model, row.claim, row.verdict.replace("_", " "), say_note(row.reason), row.source_url)
        for row in rows
    )
    heads = ("model", "the author says", "verdict", "reason", "source")
    return [
        _TEXTS["authors"].format(rows=len(rows), counts=counts),
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(texts)} | [source]({url}) |" for *texts, url in cells),
    ]


def headline(table: AccuracyTable) -> str:
    """Return the README's lines about accuracy, with their markers."""
    plain = [part for name, part in table.sections.items() if name != APART]
    rows = {(row.engine, row.component): row for part in plain for row in part}
    lines = []
    for engine, components in _TEXTS["headline"].items():
        headline_rows = [rows[engine, name] for name in components if (engine, name) in rows]
        parts = [
            f"{row.component} {percent_text(row.left_out.mean)}"
            f" (median {percent_text(row.left_out.median)}, all rows {percent_text(row.mean)}"
            + ("" if row.naive_mean is None else f", naive {percent_text(row.naive_mean)}")
            + ")"
            for row in headline_rows
        ]
        lines += [f"- {engine}: {', '.join(parts)}"] if parts else []
    return "\n".join([BEGIN, *lines, END])


def _more_of_hf_mem(rows: tuple[ErrorRow, ...]) -> list[str]:
    rivals = [(f"{row.engine} {row.component}", row.hf_mem) for row in rows if row.hf_mem]
    medians = [f"{name} {percent_text(errors.median)}" for name, errors in rivals]
    named_means = [
        f"{name} {rival_text(errors, named=True)}"
        for name, errors in rivals
        if (errors.named_mean, errors.named_answered) != (errors.mean, errors.answered)
    ]
    named_clause = f"With `--kv-cache-dtype {NAMED}` wherever a row says `{AUTO}`, its means"
    sentences = [f"Medians of hf-mem's errors: {'; '.join(medians)}."] if medians else []
    sentences += [f"{named_clause}: {'; '.join(named_means)}."] if named_means else []
    return ["", " ".join(sentences)] if sentences else []


def _markdown_rows(rows: tuple[ErrorRow, ...]) -> list[str]:
    head = ["engine", "component", "**left out: mean**", "median", "p95", "bias", "in band"]
    head += ["sources", "first contact: n", "mean"]
    head += ["all rows: n", "median", "mean", "bias", "p95", "mean GiB", "naive", "hf-mem", "worst"]
    return [
        "| " + " | ".join(head) + " |",
        "|---|---|" + "--:|" * (len(head) - 2),
        *("| " + " | ".join(_cells(row)) + " |" for row in rows),
    ]


def _cells(row: ErrorRow) -> list[str]:
    left_out, contact = row.left_out, row.first_contact
    return [
        row.engine,
        row.component,
        f"**{percent_text(left_out.mean)}**",
        percent_text(left_out.median),
        percent_text(left_out.p95),
        percent_text(left_out.bias, signed=True),
        percent_text(left_out.in_band),
        str(left_out.sources),
        "—" if contact is None else str(contact.n),
        percent_text(contact and contact.mean),
        str(row.n),
        percent_text(row.median),
        percent_text(row.mean),
        percent_text(row.bias, signed=True),
        percent_text(row.p95),
        "—" if row.mean_gib is None else f"{row.mean_gib:.2f}",
        percent_text(row.naive_mean),
        rival_text(row.hf_mem),
        f"[{percent_text(row.worst, signed=True)}]({row.worst_url})",
    ]


def with_headline(readme: str, table: AccuracyTable) -> str:
    """Return a README with the current headline. Raises ValueError if the markers are missing."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(readme):
        raise ValueError("README has no accuracy markers")
    return pattern.sub(lambda _: headline(table), readme)


def write_docs(table: AccuracyTable, path: Path = DOCUMENT, readme: Path = README) -> None:
    """Write `docs/accuracy.md`, and the README's headline between its markers."""
    path.write_text(document(table), "utf-8")
    readme.write_text(with_headline(readme.read_text("utf-8"), table), "utf-8")
