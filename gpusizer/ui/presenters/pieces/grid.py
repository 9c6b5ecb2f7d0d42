"""A table to sort and search, as the value of a `gr.Dataframe`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypedDict, TypeVar

from markupsafe import Markup

from gpusizer.core.printable import printable
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words

Value = str | int | float | None
Datatype = Literal["number", "str", "html"]
_Row = TypeVar("_Row")

_LARGEST = 9e99
"""Value by which an unknown price or power is sorted.

The browser compares null as zero, which would sort unknown prices before the lowest one.
"""


@dataclass(frozen=True, slots=True)
class Column(Generic[_Row]):
    """One column of a grid.

    Attributes:
        name: key of its heading, `page.column.<name>`.
        value: by which its rows are sorted and searched, a number where it is one.
        write: what is shown.
        datatype: type of the shown values.
        ascending: people look for the least values, so that unknown ones are sorted as largest.
        width: pixels; 0 for a width by the contents of the widest cell.
    """

    name: str
    value: Callable[[_Row], Value]
    write: Callable[[_Row, Words], str]
    datatype: Datatype = "number"
    ascending: bool = False
    width: int = 0

    def sorted_by(self, row: _Row) -> Value:
        """Return the sort key, printable; unknown values sort last in an ascending column."""
        value = self.value(row)
        if isinstance(value, str):
            return printable(value)
        return _LARGEST if value is None and self.ascending else value


class GridUpdate(TypedDict):
    """Arguments of `gr.update` for a table."""

    value: dict[str, object]
    headers: list[str]
    datatype: list[Datatype]
    column_count: int
    column_widths: list[int | str]
    visible: bool


def numbers(
    name: str,
    amount: Callable[[_Row], float | None],
    write: Callable[[Words, float], str],
    unit: float = 1,
    digits: int | None = None,
    *,
    width: int = 0,
    ascending: bool = False,
) -> Column[_Row]:
    """Return a column of amounts, sorted by their rounded units; unknown ones are dashes."""

    def value(row: _Row) -> Value:
        known_amount = amount(row)
        if known_amount is None or unit == 1:
            return known_amount
        return known_amount / unit if digits is None else round(known_amount / unit, digits)

    def shown(row: _Row, words: Words) -> str:
        return known(amount(row), lambda known_amount: write(words, known_amount))

    return Column(name, value, shown, ascending=ascending, width=width)


def marked(
    name: str,
    value: Callable[[_Row], Value],
    write: Callable[[_Row, Words], str],
    *,
    width: int = 0,
    ascending: bool = False,
) -> Column[_Row]:
    """Return a column of markup, which a template has written, since that escapes."""
    return Column(name, value, write, "html", ascending, width)


def grid_update(columns: Sequence[Column[_Row]], rows: Sequence[_Row], words: Words) -> GridUpdate:
    """Return what shows these rows under these columns; without rows the grid is absent."""
    return {
        "value": grid_value(columns, rows, words),
        "headers": headers(columns, words),
        "datatype": [column.datatype for column in columns],
        "column_count": len(columns),
        "column_widths": [column.width or "auto" for column in columns],
        "visible": bool(rows),
    }


def grid_value(
    columns: Sequence[Column[_Row]], rows: Iterable[_Row], words: Words
) -> dict[str, object]:
    """Return the value of a `gr.Dataframe`, which sorts `data` but shows `display_value`."""
    every = list(rows)
    shown = [[printable(column.write(row, words)) for column in columns] for row in every]
    return {
        "headers": headers(columns, words),
        "data": [[column.sorted_by(row) for column in columns] for row in every],
        "metadata": {"display_value": shown},
    }


def headers(columns: Sequence[Column[_Row]], words: Words) -> list[str]:
    """Return the headings of columns in one language."""
    return [words(f"column.{column.name}") for column in columns]


def known(value: float | None, write: Callable[[float], str]) -> str:
    """Write a number, a dash for an unknown one."""
    return DASH if value is None else write(value)


def gpu_cell(name: str, detail: str, slug: str, words: Words, rank: int | None = None) -> Markup:
    """Write a GPU's name with a link that adds it to the comparison."""
    href = question_href({"tab": "compare", "gpus": slug}, words.language)
    return piece("gpu", words, name, detail, slug, href, rank)
