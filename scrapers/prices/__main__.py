"""`python -m scrapers.prices` reads every source, checks its answer and replaces its rows."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic

from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from scrapers.client.http import HubSession
from scrapers.limits import Limits
from scrapers.prices.checks import (
    HIGHEST_USD,
    LOWEST_USD,
    PURCHASE_BOUNDS_USD,
    Checked,
    PricesRefused,
    checked,
)
from scrapers.prices.rows import read_labels, read_purchase_rows, read_rows, write_rows
from scrapers.prices.sources import ENDPOINT, PURCHASE_SOURCES, SOURCES, PriceSource, Row, fetch


@dataclass(frozen=True, slots=True)
class PriceTable(Generic[Row]):
    """A generated table of prices of one kind, and what refreshes it.

    Attributes:
        file: its name in `data/generated/`.
        labels: name of the table of its labels in `data/`.
        bounds_usd: least and highest plausible price.
    """

    file: str
    labels: str
    sources: tuple[PriceSource[Row], ...]
    read: Callable[[Path], list[Row]]
    bounds_usd: tuple[float, float]


RENTS = PriceTable(
    "rental_prices.csv", "rental_labels.csv", SOURCES, read_rows, (LOWEST_USD, HIGHEST_USD)
)
PURCHASES = PriceTable(
    "purchase_lists.csv",
    "purchase_labels.csv",
    PURCHASE_SOURCES,
    read_purchase_rows,
    PURCHASE_BOUNDS_USD,
)


def main(argv: Sequence[str]) -> int:
    """Refresh the files; return 0, or 1 when a source's answer was refused, its old rows kept."""
    arguments = _parser().parse_args(argv)
    today = datetime.now(UTC).date().isoformat()
    with HubSession(arguments.endpoint) as session:
        refused = _refresh(RENTS, session, arguments, today)
        refused += _refresh(PURCHASES, session, arguments, today)
    return 1 if refused else 0


def _refresh(
    table: PriceTable[Row], session: HubSession, arguments: argparse.Namespace, today: str
) -> int:
    """Replace the rows of the sources that answer well; return how many were refused."""
    path = arguments.folder / GENERATED_DIR.name / table.file
    known_labels = read_labels(arguments.folder / table.labels)
    rows, refused = table.read(path), 0
    for source in table.sources:
        old_rows = [row for row in rows if row.source == source.name]
        try:
            new_rows = _shaped(session, source, today)
            refreshed = checked(old_rows, new_rows, known_labels, today, table.bounds_usd)
        except (ModelUnreadable, PricesRefused) as error:
            print(f"{source.name}: kept its {len(old_rows)} rows: {error}", file=sys.stderr)
            refused += 1
            continue
        print(_summary(source.name, len(old_rows), refreshed, table.labels))
        rows = [row for row in rows if row.source != source.name] + list(refreshed.rows)
    if not arguments.dry_run:
        write_rows(path, rows)
    return refused


def _shaped(session: HubSession, source: PriceSource[Row], today: str) -> list[Row]:
    """Return the rows of a source's response.

    Raises ModelUnreadable, and PricesRefused for an unknown form.
    """
    body = fetch(session, source, Limits())
    try:
        return source.shape(body, today)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, csv.Error) as error:
        raise PricesRefused(f"not in the form we know: {error!r}") from error


def _summary(name: str, old_count: int, refreshed: Checked[Row], labels: str) -> str:
    text = f"{name}: {len(refreshed.rows)} rows, {old_count} before"
    if refreshed.unbelievable:
        text += f"; {refreshed.unbelievable} beyond belief left out"
    if refreshed.unknown_labels:
        text += f"; not in {labels}: {', '.join(refreshed.unknown_labels)}"
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scrapers.prices", description=__doc__)
    parser.add_argument("--folder", type=Path, default=DATA_DIR, help="where the files lie")
    parser.add_argument("--endpoint", default=ENDPOINT, help="host of the sources")
    parser.add_argument("--dry-run", action="store_true", help="check, but write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
