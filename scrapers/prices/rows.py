"""PriceRow: one line of `data/rental_prices.csv`, and reading and replacing that file."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PriceRow:
    """What one provider asks for an hour of one GPU.

    Attributes:
        label: the GPU as the source calls it, with its memory: "H100 80GB".
        marketplace: the lowest offer among private hosts rather than a list price.
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


COLUMNS = tuple(field.name for field in fields(PriceRow))


def read_rows(path: Path) -> list[PriceRow]:
    """Every row of the file. Raises ValueError or KeyError for a malformed one."""
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
    """Labels of `data/rental_labels.csv`, those excluded with a reason among them."""
    with path.open(encoding="utf-8", newline="") as file:
        return frozenset(row["label"] for row in csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[PriceRow]) -> None:
    """Replace the file, sorted so that changes are easy to read. All of it, or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(map(_cells, sorted(rows, key=_order)))
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _cells(row: PriceRow) -> tuple[object, ...]:
    return tuple(str(cell).lower() if isinstance(cell, bool) else cell for cell in astuple(row))


def _order(row: PriceRow) -> tuple[object, ...]:
    return (row.source, row.label, row.provider, row.spot, row.usd_per_gpu_hour, row.offer)
