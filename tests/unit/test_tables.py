"""read_table: typed rows of CSV files, and errors that name the file, the line and the column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from gpusizer.core.tables import MalformedTable, TableRow, read_table


def write(folder: Path, *lines: str) -> Path:
    path = folder / "cards.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def card(row: TableRow) -> tuple[str, int, float, bool, tuple[str, ...], int | None]:
    return (
        row.text("name"),
        row.integer("boards"),
        row.number("gb"),
        row.flag("sold"),
        row.parts("aliases", "|"),
        row.optional("watts", int),
    )


@dataclass(frozen=True)
class Card:
    name: str
    boards: int
    gb: float
    sold: bool
    aliases: tuple[str, ...]
    watts: int | None
    memory_bytes: int


HEADER = "name,boards,gb,sold,aliases,watts"


def test_typed_rows_in_file_order(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER, "a,2,1.5,true,x|y,300", "", '"b, c",1,3,false,,')
    assert read_table(path, card) == (
        ("a", 2, 1.5, True, ("x", "y"), 300),
        ("b, c", 1, 3.0, False, (), None),
    )


def test_a_record_reads_its_fields_by_their_types(tmp_path: Path) -> None:
    """Two cards of 1.5 GB and one of 3; what is given needs no column."""
    path = write(tmp_path, HEADER, "a,2,1.5,true,x|y,300", "b,1,3,false,,")
    cards = read_table(
        path, lambda row: row.record(Card, memory_bytes=round(row.number("gb") * 1e9))
    )
    assert cards == (
        Card("a", 2, 1.5, True, ("x", "y"), 300, 1_500_000_000),
        Card("b", 1, 3.0, False, (), None, 3_000_000_000),
    )
    with pytest.raises(MalformedTable, match="line 2: field memory_bytes: no such column"):
        read_table(path, lambda row: row.record(Card))


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("a,two,1,true,,", "cards.csv, line 3: field boards: invalid literal"),
        ("a,2,wide,true,,", "cards.csv, line 3: field gb: could not convert"),
        ("a,2,1,yes,,", "cards.csv, line 3: field sold: 'yes' is neither true nor false"),
        ("a,2,1,true,,much", "cards.csv, line 3: field watts: invalid literal"),
        ("a,2,1,true", "cards.csv, line 3: 6 fields expected, 4 given"),
    ],
)
def test_an_unreadable_row_is_named(tmp_path: Path, row: str, complaint: str) -> None:
    path = write(tmp_path, HEADER, "a,2,1.5,true,x|y,300", row)
    with pytest.raises(MalformedTable, match=complaint):
        read_table(path, card)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "name,boards", "a,2")
    with pytest.raises(MalformedTable, match=r"cards\.csv, line 2: field gb: no such column"):
        read_table(path, card)
    with pytest.raises(MalformedTable, match=r"cards\.csv, line 1: missing columns \['gb'\]"):
        read_table(path, card, ("name", "gb"))


def test_a_word_outside_the_choices(tmp_path: Path) -> None:
    path = write(tmp_path, "kind", "cloud", "moon")
    with pytest.raises(MalformedTable, match="line 3: field kind: 'moon' is not one of cloud, own"):
        read_table(path, lambda row: row.one_of("kind", ("cloud", "own")))
