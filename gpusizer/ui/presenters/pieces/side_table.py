"""A table of things side by side: rows by name, a column for each, the best of a row bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.html import Child, el, join, small
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.words import Words

Best = Callable[[Iterable[float]], float]
"""`max` where people look for the most, `min` where they look for the least."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a column shows in a row.

    Attributes:
        shown: the value as text or markup.
        band: small print that always stands below it.
        terms: sources and conditions, which a reader unfolds, a line for each.
        value: by which the best of a row is found; None where it does not compare.
    """

    shown: Child
    band: str | None = None
    terms: tuple[str, ...] = ()
    value: float | None = None


Column = Mapping[str, Cell]
"""Cells by the name of their row."""


def side_table_html(
    heads: Sequence[Markup],
    columns: Sequence[Column],
    rows: Mapping[str, Best | None],
    words: Words,
) -> Markup:
    """Write the rows that some column has, in the order of `rows`; a dash where a column lacks one.

    It scrolls sideways inside its place; the column of names stays in sight.
    """
    named = [name for name in rows if any(name in column for column in columns)]
    body = [_row(name, rows[name], columns, words) for name in named]
    first = el("td", class_="gs-side-corner")
    table = el(
        "table",
        el("thead", el("tr", first, join(heads))),
        el("tbody", join(body)),
        class_="gs-side",
    )
    return el("div", table, class_="gs-scroll", tabindex=0)


def _row(name: str, best: Best | None, columns: Sequence[Column], words: Words) -> Markup:
    cells = [column.get(name, Cell(DASH)) for column in columns]
    values = [cell.value for cell in cells if cell.value is not None]
    is_told_apart = len({cell.shown for cell in cells}) > 1
    winner = best(values) if best and is_told_apart and len(set(values)) > 1 else None
    return el(
        "tr",
        el("th", words(f"spec.{name}"), scope="row"),
        join(_cell(cell, is_best=winner is not None and cell.value == winner) for cell in cells),
        data_row=name,
    )


def _cell(cell: Cell, *, is_best: bool) -> Markup:
    shown = el("strong", cell.shown) if is_best else el("span", cell.shown)
    terms = [el("small", term, class_="gs-term") for term in cell.terms if term]
    return el("td", shown, small(cell.band), join(terms))
