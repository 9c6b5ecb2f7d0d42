"""Write boards of scores to `data/quality_boards.csv` and `data/model_scores.csv`.

    python -m scripts.add_model_scores FILE ...

FILEs are tables (CSV) with a row for each model and setting: `model_id`, `benchmark`, `version`,
`score`, `unit`, `higher_is_better` (yes or no), `setting`, `reported_by`, `source_url`, `date`,
`terms`. A board that one of them has replaces the board of that name; only those that
`gpusizer.quality.boards` reads are kept, only under terms that permit to show them, and without
models that are pretrained only. `data/SOURCES.md` says where each table is read from.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from gpusizer.core.paths import DATA_DIR
from gpusizer.quality.boards import (
    ALL_BOARDS,
    BOARD_COLUMNS,
    BOARDS_FILE,
    MAKERS,
    SCORE_COLUMNS,
    SCORES_FILE,
)

_PERMITTED = ("CC BY 4.0", "CC0", "MIT", "Apache-2.0")
_INTERVAL = re.compile(r"95% CI (-?[0-9.]+)-(-?[0-9.]+)")
_COUNTS = re.compile(r"\d+ votes|RTFx [0-9.]+|https://\S+|as listed, date of the snapshot")
_MAKER = "maker's card"
# Words that only say which of the board's columns was read.
_NOT_OF_A_MODEL = ("", "function-calling mode")

Row = Mapping[str, str]


def main() -> None:
    """Replace the boards that the files have."""
    parser = argparse.ArgumentParser(prog="python -m scripts.add_model_scores")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=DATA_DIR, help="default: data")
    arguments = parser.parse_args()
    rows = [row for path in arguments.files for row in read(path)]
    for line in add(rows, arguments.output):
        print(line)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def add(rows: Iterable[Row], folder: Path) -> list[str]:
    """Write the boards of these rows and the other present ones; return a line about each board."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in filter(_is_kept, rows):
        found[row["benchmark"]].append(row)
    found = defaultdict(list, {name: _of_one_version(board) for name, board in found.items()})
    boards = [row for row in _present(folder / BOARDS_FILE) if row["board"] not in found]
    scores = [row for row in _present(folder / SCORES_FILE) if row["board"] not in found]
    for name, of_board in found.items():
        common = set.intersection(*(set(_said(row)) for row in of_board))
        boards.append(_board(name, of_board, common))
        scores += [_score(name, row, common) for row in of_board]
    order = ("board", "model_id", "setting")
    scores.sort(key=lambda row: tuple(row[column].casefold() for column in order))
    _write(folder / BOARDS_FILE, BOARD_COLUMNS, sorted(boards, key=lambda row: row["board"]))
    _write(folder / SCORES_FILE, SCORE_COLUMNS, scores)
    return [f"{name}: {len(of_board)} scores" for name, of_board in found.items()]


def _is_kept(row: Row) -> bool:
    # Of a board that is read, under permitted terms, of a model that answers. A board has makers'
    # figures or others', since their shares do not compare.
    maker = row["benchmark"] in MAKERS.values()
    return (
        row["benchmark"] in ALL_BOARDS
        and any(terms in row["terms"] for terms in _PERMITTED)
        and (row["reported_by"] == _MAKER) == maker
        and "base" not in _said(row)
    )


def _of_one_version(rows: Sequence[Row]) -> list[Row]:
    # The most frequent version and table: scores of others do not compare.
    kinds = Counter((row["version"], row["terms"]) for row in rows)
    (kind, _), *_ = kinds.most_common(1)
    return [row for row in rows if (row["version"], row["terms"]) == kind]


def _said(row: Row) -> list[str]:
    # Parts of the setting without interval and counts.
    parts = (part.strip() for part in row["setting"].split(";"))
    return [p for p in parts if not (_INTERVAL.fullmatch(p) or _COUNTS.fullmatch(p))]


def _board(name: str, rows: Sequence[Row], common: set[str]) -> dict[str, str]:
    first, addresses = rows[0], [row["source_url"] for row in rows]
    steps = zip(*(address.split("/") for address in addresses), strict=False)
    shared = "/".join(step[0] for step in takewhile(lambda step: len(set(step)) == 1, steps))
    address = shared if len(set(addresses)) == 1 else f"{shared}/"
    setting = [part for part in _said(first) if part in common and part not in _NOT_OF_A_MODEL]
    return {
        "board": name,
        "version": first["version"],
        "unit": first["unit"],
        "higher_is_better": str(first["higher_is_better"] == "yes").lower(),
        "setting": "; ".join(setting),
        "by_maker": str(first["reported_by"] == _MAKER).lower(),
        "source_url": address,
        "date": max(row["date"] for row in rows),
        "terms": first["terms"].removesuffix(" (repository)"),
    }


def _score(name: str, row: Row, common: set[str]) -> dict[str, str]:
    interval = _INTERVAL.search(row["setting"])
    low, high = interval.groups() if interval else ("", "")
    setting = "; ".join(part for part in _said(row) if part not in common)
    facts = {"board": name, "model_id": row["model_id"], "score": row["score"]}
    return {**facts, "low": low, "high": high, "setting": setting}


def _present(path: Path) -> list[dict[str, str]]:
    return read(path) if path.is_file() else []


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
