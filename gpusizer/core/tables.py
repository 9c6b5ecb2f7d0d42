"""Tables: CSV files of `data/` read into typed rows, and the TOML file of a module."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from pathlib import Path
from typing import TypeVar, get_type_hints

from gpusizer.core.loose_values import Arguments, StoredObject

_T = TypeVar("_T")


class MalformedTable(ValueError):
    """A table that cannot be read. Its text names the file, the line (from 1) and the column."""

    def __init__(self, file: str, line: int, reason: str, field: str = "") -> None:
        self.line, self.field = line, field
        cell = f"field {field}: " if field else ""
        super().__init__(f"{file}, line {line}: {cell}{reason}")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table, `cells` by column. Conversions raise MalformedTable for other text."""

    file: str
    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return the text of a cell, "" if it is empty."""
        try:
            return self.cells[column]
        except KeyError:
            raise self.malformed(column, "no such column") from None

    def integer(self, column: str) -> int:
        """Return a whole number."""
        return self.parsed(column, int)

    def number(self, column: str) -> float:
        """Return a decimal number."""
        return self.parsed(column, float)

    def flag(self, column: str) -> bool:
        """Return whether a cell is "true"; "false" and an empty cell are false."""
        return self.parsed(column, _flag)

    def one_of(self, column: str, allowed: Sequence[str]) -> str:
        """Return the text of a cell that must be one of the allowed words."""
        text = self.text(column)
        if text not in allowed:
            raise self.malformed(column, f"{text!r} is not one of {', '.join(allowed)}")
        return text

    def parts(self, column: str, separator: str | None = None) -> tuple[str, ...]:
        """Return the parts of a cell between separators (white space by default)."""
        return tuple(filter(None, self.text(column).split(separator)))

    def optional(self, column: str, parse: Callable[[str], _T]) -> _T | None:
        """Return the parsed text, None for an empty cell."""
        return self.parsed(column, parse) if self.text(column) else None

    def parsed(self, column: str, parse: Callable[[str], _T]) -> _T:
        """Return the parsed text; raise ValueErrors of `parse` with file, line and column."""
        text = self.text(column)
        try:
            return parse(text)
        except ValueError as error:
            raise self.malformed(column, str(error)) from error

    def record(self, make: type[_T], **given: object) -> _T:
        """Return a dataclass with fields read from columns of their names, except `given` ones."""
        # a field's type selects the reader of its cell; bars separate parts of a tuple
        kind_of_record: type = make
        read: Arguments = {
            name: _READERS[kind](self, name)
            for name, kind in _types(kind_of_record).items()
            if name not in given
        }
        return make(**read, **given)

    def malformed(self, column: str, reason: str) -> MalformedTable:
        """Return an error about one cell of this row."""
        return MalformedTable(self.file, self.line, reason, column)


# type of a field -> reader of its cell
_READERS: Mapping[object, Callable[[TableRow, str], object]] = {
    str: TableRow.text,
    int: TableRow.integer,
    float: TableRow.number,
    bool: TableRow.flag,
    tuple[str, ...]: lambda row, column: row.parts(column, "|"),
    int | None: lambda row, column: row.optional(column, int),
    float | None: lambda row, column: row.optional(column, float),
    date: lambda row, column: row.parsed(column, date.fromisoformat),
    date | None: lambda row, column: row.optional(column, date.fromisoformat),
}


@cache
def _types(make: type) -> dict[str, object]:
    hints = get_type_hints(make)
    return {field.name: hints[field.name] for field in fields(make)}


def read_table(
    path: Path, make: Callable[[TableRow], _T], columns: Sequence[str] = ()
) -> tuple[_T, ...]:
    """Return `make` of each row, in file order, without blank lines. Raise MalformedTable."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        # a header must have all of `columns`
        missing = [column for column in columns if column not in header]
        if missing:
            raise MalformedTable(path.name, 1, f"missing columns {missing}")
        rows = []
        for cells in filter(None, reader):
            line = reader.line_num
            if len(cells) != len(header):
                reason = f"{len(header)} fields expected, {len(cells)} given"
                raise MalformedTable(path.name, line, reason)
            rows.append(make(TableRow(path.name, line, dict(zip(header, cells, strict=True)))))
    return tuple(rows)


def records_by(path: Path, key: str, make: type[_T]) -> dict[str, _T]:
    """Return the rows of a table as records, by the text of a column. Raise MalformedTable."""
    return dict(read_table(path, lambda row: (row.text(key), row.record(make))))


def toml_of(module: str) -> StoredObject:
    """Return the TOML file beside a module, given its `__file__`."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def _flag(text: str) -> bool:
    if text not in ("true", "false", ""):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"
