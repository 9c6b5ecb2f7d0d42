"""`python -m scrapers.prices` reads every source, checks its answer and replaces its rows."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from scrapers.http import HubSession
from scrapers.limits import Limits
from scrapers.prices.checks import Checked, PricesRefused, checked
from scrapers.prices.rows import PriceRow, read_labels, read_rows, write_rows
from scrapers.prices.sources import ENDPOINT, SOURCES, PriceSource, fetch


def main(argv: Sequence[str]) -> int:
    """Refresh the file; return 0, or 1 when a source's answer was refused and its old rows stay."""
    arguments = _parser().parse_args(argv)
    prices = arguments.folder / GENERATED_DIR.name / "rental_prices.csv"
    labels = arguments.folder / "rental_labels.csv"
    today = datetime.now(UTC).date().isoformat()
    rows, refused = read_rows(prices), 0
    known_labels = read_labels(labels)
    with HubSession(arguments.endpoint) as session:
        for source in SOURCES:
            old_rows = [row for row in rows if row.source == source.name]
            try:
                refreshed = _refreshed(session, source, old_rows, known_labels, today)
            except (ModelUnreadable, PricesRefused) as error:
                print(f"{source.name}: kept its {len(old_rows)} rows: {error}", file=sys.stderr)
                refused += 1
                continue
            print(_summary(source, old_rows, refreshed))
            rows = [row for row in rows if row.source != source.name] + list(refreshed.rows)
    if not arguments.dry_run:
        write_rows(prices, rows)
    return 1 if refused else 0


def _refreshed(
    session: HubSession,
    source: PriceSource,
    old_rows: list[PriceRow],
    known_labels: frozenset[str],
    today: str,
) -> Checked:
    body = fetch(session, source, Limits())
    try:
        new_rows = source.shape(body, today)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, csv.Error) as error:
        raise PricesRefused(f"not in the form we know: {error!r}") from error
    return checked(old_rows, new_rows, known_labels, today)


def _summary(source: PriceSource, old_rows: list[PriceRow], refreshed: Checked) -> str:
    text = f"{source.name}: {len(refreshed.rows)} rows, {len(old_rows)} before"
    if refreshed.unbelievable:
        text += f"; {refreshed.unbelievable} beyond belief left out"
    if refreshed.unknown_labels:
        text += f"; not in rental_labels.csv: {', '.join(refreshed.unknown_labels)}"
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scrapers.prices", description=__doc__)
    parser.add_argument("--folder", type=Path, default=DATA_DIR, help="where the files lie")
    parser.add_argument("--endpoint", default=ENDPOINT, help="host of the sources")
    parser.add_argument("--dry-run", action="store_true", help="check, but write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
