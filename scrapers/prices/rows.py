"""Rows of the files of rents and of purchase prices, and functions to read and replace them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from gpusizer.core.tables import read_table

Entry = TypeVar("Entry")
Made = TypeVar("Made")

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError)
_LARGEST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class PurchaseRow:
    """A published list's price of one device.

    Attributes:
        label: the list's name of the device; `data/purchase_labels.csv` says which board it is.
        date: ISO date of the price.
        source: name of the list, explained in `data/SOURCES.md`.
        address: public page of the entry.
    """

    label: str
    usd: float
    date: str
    source: str
    address: str

    @property
    def price_usd(self) -> float:
        """What must be believable."""
        return self.usd

    @property
    def order(self) -> tuple[object, ...]:
        """Place in the file."""
        return (self.source, self.label, self.usd)


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A provider's price of one GPU for one hour.

    Attributes:
        label: the source's name of the GPU, with its memory: "H100 80GB".
        marketplace: whether it is the lowest offer among private hosts, not a list price.
        offer: kind of offer and region, in the source's words.
        gpus: GPUs of the machine that was priced.
        date: ISO date, or a bare year.
        source: name of the source, explained in `data/SOURCES.md`.
    """

    label: str
    provider: str
    marketplace: bool
    offer: str
    gpus: int
    usd_per_gpu_hour: float
    spot: bool
    date: str
    source: str

    @property
    def price_usd(self) -> float:
        """What must be believable."""
        return self.usd_per_gpu_hour

    @property
    def order(self) -> tuple[object, ...]:
        """Place in the file."""
        return (
            self.source,
            self.label,
            self.provider,
            self.spot,
            self.usd_per_gpu_hour,
            self.offer,
        )


def read_rows(path: Path) -> list[PriceRow]:
    """Read every row of the file of rents. Raises MalformedTable."""
    return list(read_table(path, lambda row: row.record(PriceRow)))


def read_purchase_rows(path: Path) -> list[PurchaseRow]:
    """Read every row of the file of prices to buy. Raises MalformedTable."""
    return list(read_table(path, lambda row: row.record(PurchaseRow)))


def read_labels(path: Path) -> frozenset[str]:
    """Read the labels of a table of labels, including those excluded with a reason."""
    return frozenset(read_table(path, lambda row: row.text("label")))


def write_rows(path: Path, rows: Iterable[PriceRow | PurchaseRow]) -> None:
    """Replace the file atomically, with rows sorted so that its diff is easy to read."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            _frame(rows).to_csv(file, index=False, lineterminator="\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _frame(rows: Iterable[PriceRow | PurchaseRow]) -> pd.DataFrame:
    """Build a frame of the sorted rows, with flags in lower case as `read_rows` expects them.

    Raises ValueError for no rows at all, whose columns nothing says.
    """
    ordered: list[PriceRow | PurchaseRow] = sorted(rows, key=lambda row: row.order)
    if not ordered:
        raise ValueError("no rows to write")
    columns = [field.name for field in fields(ordered[0])]
    frame = pd.DataFrame([astuple(row) for row in ordered], columns=columns, dtype=object)
    return frame.map(lambda cell: str(cell).lower() if isinstance(cell, bool) else cell)


def readable(entries: Iterable[Entry], make: Callable[[Entry], Made]) -> list[Made]:
    """Make a row of each entry, leaving out those of which none can be made.

    Raises ValueError where they are more than one and more than 5%: the format has changed.
    """
    rows: list[Made] = []
    failures: list[Any] = []
    for entry in entries:
        try:
            rows.append(make(entry))
        except _UNREADABLE as error:
            failures.append(error)
    if len(failures) > max(1, _LARGEST_SHARE * (len(rows) + len(failures))) or (
        failures and not rows
    ):
        raise ValueError(f"{len(failures)} rows cannot be read, the first by {failures[0]!r}")
    return rows
