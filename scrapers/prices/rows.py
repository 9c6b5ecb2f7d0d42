"""PriceRow: a row of `data/generated/rental_prices.csv`, and functions to read and replace rows."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import pandas as pd

from scrapers.prices.purchase_rows import PurchaseRow


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
    """Read every row of the file. Raises ValueError or KeyError for a malformed one."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            PriceRow(
                label=row["label"],
                provider=row["provider"],
                marketplace=row["marketplace"] == "true",
                offer=row["offer"],
                gpus=int(row["gpus"]),
                usd_per_gpu_hour=float(row["usd_per_gpu_hour"]),
                spot=row["spot"] == "true",
                date=row["date"],
                source=row["source"],
            )
            for row in csv.DictReader(file)
        ]


def read_labels(path: Path) -> frozenset[str]:
    """Read the labels of a table of labels, including those excluded with a reason."""
    with path.open(encoding="utf-8", newline="") as file:
        return frozenset(row["label"] for row in csv.DictReader(file))


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
