"""`python -m scrapers.prices`: read every source, check it, replace its rows."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpusizer.errors import ModelUnreadable
from gpusizer.paths import DATA_DIR
from scrapers.http import HubSession
from scrapers.limits import Limits
from scrapers.prices.checks import Checked, PricesRefused, checked
from scrapers.prices.rows import PriceRow, read_labels, read_rows, write_rows
from scrapers.prices.sources import ENDPOINT, SOURCES, Source, fetch


def main(argv: Sequence[str]) -> int:
    """Refresh the file; 0 when every source could be used, 1 when one kept its old rows."""
    asked = _parser().parse_args(argv)
    prices, labels = asked.folder / "rental_prices.csv", asked.folder / "rental_labels.csv"
    today = datetime.now(UTC).date().isoformat()
    rows, refused = read_rows(prices), 0
    known = read_labels(labels)
    with HubSession(asked.endpoint) as session:
        for source in SOURCES:
            before = [row for row in rows if row.source == source.name]
            try:
                found = _refreshed(session, source, before, known, today)
            except (ModelUnreadable, PricesRefused) as error:
                print(f"{source.name}: kept its {len(before)} rows: {error}", file=sys.stderr)
                refused += 1
                continue
            print(_summary(source, before, found))
            rows = [row for row in rows if row.source != source.name] + list(found.rows)
    if not asked.dry_run:
        write_rows(prices, rows)
    return 1 if refused else 0


def _refreshed(
    session: HubSession, source: Source, before: list[PriceRow], known: frozenset[str], today: str
) -> Checked:
    body = fetch(session, source, Limits())
    try:
        after = source.shape(body, today)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, csv.Error) as error:
        raise PricesRefused(f"not in the form we know: {error!r}") from error
    return checked(before, after, known, today)


def _summary(source: Source, before: list[PriceRow], found: Checked) -> str:
    text = f"{source.name}: {len(found.rows)} rows, {len(before)} before"
    if found.unbelievable:
        text += f"; {found.unbelievable} beyond belief left out"
    if found.unknown_labels:
        text += f"; not in rental_labels.csv: {', '.join(found.unknown_labels)}"
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scrapers.prices", description=__doc__)
    parser.add_argument("--folder", type=Path, default=DATA_DIR, help="where the files lie")
    parser.add_argument("--endpoint", default=ENDPOINT, help="host of the sources")
    parser.add_argument("--dry-run", action="store_true", help="check, but write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
