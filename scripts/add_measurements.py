"""Add measured rows to the tables of `data/measurements`.

    python -m scripts.add_measurements FILE ...

FILEs are JSON Lines in the form of `data/measurements/README.md`, which pages offer with a checked
log. A row is added to the table of its kind if its ID is new. Its prediction is recorded first
(`bench/first_contact.py`), before any constant is changed for it.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bench import first_contact
from bench.evaluation import compared
from bench.measurements import FILES, FOLDER, PROFILED, Row, known_ids, load

_STATED = ("id", "source_group", "source_url")


def main() -> None:
    """Add the rows of all files, or none if one cannot be added."""
    parser = argparse.ArgumentParser(prog="python -m scripts.add_measurements")
    parser.add_argument("files", nargs="+", type=Path)
    rows = load(parser.parse_args().files)
    faults = [fault for row in rows for fault in faults_of(row)]
    if faults:
        parser.error("\n".join(faults))
    for line in add(rows):
        print(line)


def faults_of(row: Row) -> list[str]:
    """Return why a row cannot be added, in a sentence each."""
    name, kind = row.get("id", "a row"), row.get("kind")
    faults = [f"{name} states no {field}" for field in _STATED if not row.get(field)]
    if kind not in FILES:
        return [*faults, f"{name} is of kind {kind}, which no table holds"]
    if not str(row.get("source_url", "https://")).startswith("https://"):
        faults.append(f"{name} has no public address: {row['source_url']}")
    if kind in PROFILED and row.get("profile") not in known_ids():
        faults.append(f"{name} names no model that scripts.add_model has read as its profile")
    return faults


def add(rows: Iterable[Row], folder: Path = FOLDER) -> list[str]:
    """Append the rows with new IDs; return a line about each table."""
    tables: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        tables[FILES[row["kind"]]].append(row)
    lines = []
    for name, offered in tables.items():
        path = folder / name
        present = {row["id"] for row in load([path])} if path.is_file() else set()
        new = {row["id"]: row for row in offered if row["id"] not in present}
        errors = first_contact.record(new.values(), compared, folder / first_contact.FILE.name)
        with path.open("a", encoding="utf-8") as table:
            for row in new.values():
                table.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        lines.append(f"{name}: {len(new)} new rows of {len(offered)}, {errors} first errors")
    return lines


if __name__ == "__main__":
    main()
