"""A report's JSON as CSV: the ranking, and memory at every quantization."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from gpusizer.answers.contract.answers import SizeAnswer
from gpusizer.core.printable import printable
from gpusizer.core.tables import toml_of

_TABLES = toml_of(__file__)
ESTIMATE_COLUMNS: Mapping[str, str] = _TABLES["estimates"]
RANKING_COLUMNS: Mapping[str, str] = _TABLES["ranking"]

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

Cell = str | int | float | bool | None


def ranking_csv(report: SizeAnswer) -> str:
    """The ranked GPUs, a line each; unknown numbers are empty."""
    return _csv(RANKING_COLUMNS, report["ranking"])


def estimates_csv(report: SizeAnswer) -> str:
    """Memory at every quantization, a line each; totals over all GPUs used."""
    return _csv(ESTIMATE_COLUMNS, report["estimates"])


def inert(cell: Cell) -> Cell:
    """The cell as no spreadsheet would run it, and no reader be deceived by it.

    >>> inert("=HYPERLINK(1)"), inert(-5)
    ("'=HYPERLINK(1)", -5)
    """
    if not isinstance(cell, str):
        return cell
    quote = "'" if cell.startswith(_FORMULA_STARTS) else ""
    return quote + printable(cell)


def _csv(columns: Mapping[str, str], rows: Iterable[Mapping[str, object]]) -> str:
    file = io.StringIO()
    lines = csv.writer(file)
    lines.writerow(columns)
    lines.writerows([inert(_at(row, path)) for path in columns.values()] for row in rows)
    return file.getvalue()


def _at(row: Mapping[str, object], paths: str) -> Cell:
    """The value at a path of names, None where a part of it is unknown."""
    for path in paths.split("|"):
        value: object = row
        for name in path.split("."):
            value = value[name] if isinstance(value, dict) else None
        if isinstance(value, str | int | float):
            return value
    return None
