"""Errors of rows when they were added, before any constant was changed for them.

`python -m scripts.add_measurements` predicts every new row before it is added, and appends the
errors to `data/measurements/first_contact.csv`. A line is never edited. Rows older than the file
have no line, because their first predictions were not recorded.
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
NO_ANSWER = "no_answer"  # value of `quantity` for a row with nothing to compare

_DIGITS = 5

Compare = Callable[[Row], Iterable[Comparison]]


def read(path: Path = FILE) -> pd.DataFrame:
    """Read all lines; `in_band` is NaN where an answer printed no band."""
    return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=list(COLUMNS))


@cache
def not_fitted_on() -> frozenset[str]:
    """Return the IDs of rows that constants and bands are not fitted on: all rows in the file.

    They test the constants on measurements that the fits have not used. Speeds of stated settings
    are fitted on all the same (`bench/speed_cases.py`): their test is the source left out.
    """
    return frozenset(read()["id"])


def record(rows: Iterable[Row], compare: Compare, path: Path = FILE) -> int:
    """Append the errors of rows that have no line yet; return the number of added lines.

    A row without any comparison, or with circumstances that no request can state, gets a line
    without an error.
    """
    recorded_ids = set(read(path)["id"])
    new_rows = [row for row in rows if row["id"] not in recorded_ids]
    frame = frame_of(c for row in new_rows for c in compare(row) if not c.apart)
    lines = frame.rename(
        columns={"row_id": "id", "component": "quantity", "relative": "error"}
    ).assign(arrived=date.today().isoformat())[list(COLUMNS)]
    unanswered = [
        {"id": row["id"], "quantity": NO_ANSWER, "source_group": row["source_group"]}
        for row in new_rows
        if row["id"] not in set(lines["id"])
    ]
    unanswered_lines = pd.DataFrame(unanswered, columns=list(COLUMNS))
    lines = pd.concat([lines, unanswered_lines.assign(arrived=date.today().isoformat())])
    lines["error"] = lines["error"].astype(float).round(_DIGITS)
    lines.to_csv(path, mode="a", header=not path.is_file(), index=False, lineterminator="\n")
    return len(lines)
