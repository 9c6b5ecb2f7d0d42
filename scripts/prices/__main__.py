"""`python -m scripts.prices` reads every source, checks its answer and replaces its rows."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from scrapers.client.http import HubSession
from scrapers.limits import Limits
from scripts.prices.checks import Checked, PricesRefused, checked
from scripts.prices.rows import AnyRow, read_labels, read_rows, write_rows
from scripts.prices.sources import ENDPOINT, TABLES, PriceSource, PriceTable, fetch


def main(argv: Sequence[str]) -> int:
    """Refresh the files; return 0, or 1 if a source was refused and its old rows kept."""
    arguments = _parser().parse_args(argv)
    today = datetime.now(UTC).date().isoformat()
    with HubSession(arguments.endpoint) as session:
        refused = sum([_refresh(table, session, arguments, today) for table in TABLES])
    return 1 if refused else 0


def _refresh(
    table: PriceTable, session: HubSession, arguments: argparse.Namespace, today: str
) -> int:
    # Returns the number of refused sources.
    path = arguments.folder / GENERATED_DIR.name / table.file
    known_labels = read_labels(arguments.folder / table.labels)
    rows, refused = read_rows(path, table.kind), 0
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


def _shaped(session: HubSession, source: PriceSource, today: str) -> Sequence[AnyRow]:
    # Raises ModelUnreadable, and PricesRefused for an unknown form.
    body = fetch(session, source, Limits())
    try:
        return source.shape(body, today)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, csv.Error) as error:
        raise PricesRefused(f"not in the form we know: {error!r}") from error


def _summary(name: str, old_count: int, refreshed: Checked, labels: str) -> str:
    text = f"{name}: {len(refreshed.rows)} rows, {old_count} before"
    if refreshed.unbelievable:
        text += f"; {refreshed.unbelievable} beyond belief left out"
    if refreshed.unknown_labels:
        text += f"; not in {labels}: {', '.join(refreshed.unknown_labels)}"
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.prices", description=__doc__)
    parser.add_argument("--folder", type=Path, default=DATA_DIR, help="where the files lie")
    parser.add_argument("--endpoint", default=ENDPOINT, help="host of the sources")
    parser.add_argument("--dry-run", action="store_true", help="check, but write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
