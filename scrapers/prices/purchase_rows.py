"""PurchaseRow: a row of `data/generated/purchase_lists.csv`, and functions to read it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


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


def read_purchase_rows(path: Path) -> list[PurchaseRow]:
    """Read every row of the file. Raises ValueError or KeyError for a malformed one."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            PurchaseRow(
                label=row["label"],
                usd=float(row["usd"]),
                date=row["date"],
                source=row["source"],
                address=row["address"],
            )
            for row in csv.DictReader(file)
        ]
