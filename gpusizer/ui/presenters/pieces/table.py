"""Rows as an HTML table: columns by name, each with what writes a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.html import Child, el, join
from gpusizer.ui.presenters.pieces.words import Words

_Row = TypeVar("_Row")
Columns = Mapping[str, Callable[[_Row], Child]]
"""Key of a heading, `page.column.<name>` -> what writes the cell of a row."""

_TEXT = frozenset({"rank", "gpu", "quant", "quality", "verdict", "engine", "component"})
"""Columns of words; all others are numbers, which stand to the right."""
_NAMES_ITS_ROW = frozenset({"rank", "quant", "component"})


def table_html(columns: Columns[_Row], rows: Iterable[_Row], words: Words, class_: str) -> Markup:
    """Write a table that scrolls sideways where it is wider than its place."""
    return scrolling(columns, el("tbody", rows_html(columns, rows, words)), words, class_)


def scrolling(columns: Columns[_Row], bodies: Child, words: Words, class_: str) -> Markup:
    """Write the table of these bodies."""
    heads = [
        el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in columns
    ]
    table = el("table", el("thead", el("tr", join(heads))), bodies, class_=class_)
    return el("div", table, class_="gs-scroll", tabindex=0)


def rows_html(columns: Columns[_Row], rows: Iterable[_Row], words: Words) -> Markup:
    """Write rows; each cell has its column's name as an attribute, which phones show."""
    labels = {name: words(f"column.{name}") for name in columns}
    return join(
        el("tr", join(_cell(name, labels[name], write(row)) for name, write in columns.items()))
        for row in rows
    )


def _cell(name: str, label: str, text: Child) -> Markup:
    if name in _NAMES_ITS_ROW:
        return el("th", text, scope="row", class_=_class(name))
    return el("td", text, class_=_class(name), data_label=label)


def _class(name: str) -> str:
    return f"gs-col-{name}" if name in _TEXT else f"gs-col-{name} gs-number"
