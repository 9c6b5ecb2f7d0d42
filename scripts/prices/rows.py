"""Rows of the files of rents and of purchase prices, and functions to read and replace them."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from gpusizer.core.tables import read_table

Entry = TypeVar("Entry")
Made = TypeVar("Made")

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError)
_LARGEST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class PurchaseRow:
    """A published list's price of one device."""

    label: str  # the list's name of the device; `data/purchase_labels.csv` says which board it is
    usd: float
    date: str  # ISO date of the price
    source: str  # name of the list, explained in `data/SOURCES.md`
    address: str  # public page of the entry

    @property
    def price_usd(self) -> float:
        """Price to check for plausibility, in US dollars."""
        return self.usd

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key in the file."""
        return (self.source, self.label, self.usd)


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A provider's price of one GPU for one hour."""

    label: str  # the source's name of the GPU, with its memory: "H100 80GB"
    provider: str
    marketplace: bool  # whether it is the lowest offer among private hosts, not a list price
    offer: str  # kind of offer and region, in the source's words
    gpus: int  # GPUs of the machine that was priced
    usd_per_gpu_hour: float
    spot: bool
    date: str  # ISO date, or a bare year
    source: str  # name of the source, explained in `data/SOURCES.md`

    @property
    def price_usd(self) -> float:
        """Price to check for plausibility, in US dollars."""
        return self.usd_per_gpu_hour

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key in the file."""
        return (
            self.source,
            self.label,
            self.provider,
            self.spot,
            self.usd_per_gpu_hour,
            self.offer,
        )


AnyRow = PriceRow | PurchaseRow


def read_rows(path: Path, kind: type[AnyRow]) -> list[AnyRow]:
    """Read every row of a file of prices. Raises MalformedTable."""
    return list(read_table(path, lambda row: row.record(kind)))


def read_labels(path: Path) -> frozenset[str]:
    """Read the labels of a table of labels, including those excluded with a reason."""
    return frozenset(read_table(path, lambda row: row.text("label")))


def write_rows(path: Path, rows: Iterable[AnyRow]) -> None:
    """Replace the file atomically, with sorted rows for a readable diff.

    Raises ValueError without rows, because the columns are unknown.
    """
    records = [asdict(row) for row in sorted(rows, key=lambda row: row.order)]
    if not records:
        raise ValueError("no rows to write")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, records[0], lineterminator="\n")
            writer.writeheader()
            # Flags are in lower case, as `read_rows` expects them.
            for record in records:
                flags = {name: str(v).lower() for name, v in record.items() if isinstance(v, bool)}
                writer.writerow(record | flags)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def readable(entries: Iterable[Entry], make: Callable[[Entry], Made]) -> list[Made]:
    """Parse entries, skipping bad ones.

    Raises ValueError if more than one and more than 5 % fail: the format has changed.
    """
    rows: list[Made] = []
    failures: list[Exception] = []
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
