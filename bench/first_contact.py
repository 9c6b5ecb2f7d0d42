"""The errors that rows had when they arrived, before anything was changed for them.

`python -m scripts.import_measurements --append` asks for every new row before it is added, and
appends the errors to `data/measurements/first_contact.csv`. A line is never edited. Rows that came
before the file have none, as nobody can know any more what was said of them then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from pathlib import Path

import pandas as pd

from bench.errors import Comparison, frame_of
from bench.measurements import FOLDER, Row

FILE = FOLDER / "first_contact.csv"
COLUMNS = ("id", "quantity", "error", "in_band", "source_group", "arrived")
NO_ANSWER = "no_answer"
"""Quantity of a row that nothing could be compared with."""

_DIGITS = 5

Compare = Callable[[Row], Iterable[Comparison]]


def read(path: Path = FILE) -> pd.DataFrame:
    """Every line; `in_band` is NaN where an answer printed no band."""
    return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=list(COLUMNS))


@cache
def not_fitted_on() -> frozenset[str]:
    """IDs of rows that constants and bands in use were not fitted on: those on record here.

    Fitting on them changes answers; until somebody does, they show how the constants hold.
    """
    return frozenset(read()["id"])


def record(rows: Iterable[Row], compare: Compare, path: Path = FILE) -> int:
    """Append the errors of rows that have no line yet; returns the number of lines added.

    A row that no answer can be compared with, or with something that no request can state, gets a
    line without an error.
    """
    known = set(read(path)["id"])
    new = [row for row in rows if row["id"] not in known]
    frame = frame_of(c for row in new for c in compare(row) if not c.apart)
    lines = frame.rename(
        columns={"row_id": "id", "component": "quantity", "relative": "error"}
    ).assign(arrived=date.today().isoformat())[list(COLUMNS)]
    unanswered = [
        {"id": row["id"], "quantity": NO_ANSWER, "source_group": row["source_group"]}
        for row in new
        if row["id"] not in set(lines["id"])
    ]
    others = pd.DataFrame(unanswered, columns=list(COLUMNS))
    lines = pd.concat([lines, others.assign(arrived=date.today().isoformat())])
    lines["error"] = lines["error"].astype(float).round(_DIGITS)
    lines.to_csv(path, mode="a", header=not path.is_file(), index=False, lineterminator="\n")
    return len(lines)
