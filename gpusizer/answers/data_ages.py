"""How old each kind of data is that answers stand on: the days of its oldest and newest rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from gpusizer.answers.accuracy import load_accuracy
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR, SNAPSHOTS_DIR

DATED_TABLES = GENERATED_DIR / "dated_tables.csv"
"""Edited tables whose rows have no dates: the day on which each was last gone through."""
GPU_TABLE = "gpus.csv"


@dataclass(frozen=True, slots=True)
class DataAge:
    """The dates of one kind of data.

    Attributes:
        kind: "models" (embedded snapshots), "gpus", "rents", "purchases" or "accuracy".
        oldest: ISO date of the oldest row, to the day or the month.
        newest: the same of the newest.
    """

    kind: str
    oldest: str
    newest: str


@cache
def data_ages() -> tuple[DataAge, ...]:
    """The ages of all kinds of data that ship with this version."""
    purchases = [
        *_dates(DATA_DIR / "purchase_prices.csv"),
        *_dates(GENERATED_DIR / "purchase_lists.csv"),
    ]
    snapshots = (json.loads(path.read_bytes()) for path in SNAPSHOTS_DIR.glob("*__*.json"))
    return (
        _age("models", [snapshot["retrieved_at"][:10] for snapshot in snapshots]),
        _age("gpus", [_gone_through(GPU_TABLE)]),
        _age("rents", _dates(GENERATED_DIR / "rental_prices.csv")),
        _age("purchases", purchases),
        _age("accuracy", [load_accuracy().as_of]),
    )


def fingerprint(path: Path) -> str:
    """The hash by which `dated_tables.csv` knows the text of a table."""
    return sha256(path.read_bytes()).hexdigest()[:16]


def _age(kind: str, dates: Iterable[str]) -> DataAge:
    known = sorted(filter(None, dates))
    return DataAge(kind, known[0], known[-1])


def _dates(table: Path) -> Iterator[str]:
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["date"]


def _gone_through(table: str) -> str:
    with DATED_TABLES.open(encoding="utf-8", newline="") as file:
        return next(row["date"] for row in csv.DictReader(file) if row["table"] == table)
