"""A table of things side by side: rows by name, a column for each, the best of a row bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.number_format import DASH

Best = Callable[[Iterable[float]], float]
"""`max` where people look for the most, `min` where they look for the least."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a column in a row.

    Attributes:
        shown: the value as text or markup.
        band: small print that is always below it.
        terms: sources and conditions, which a reader unfolds, a line for each.
        value: by which the best of a row is found; None where it does not compare.
    """

    shown: str | Markup
    band: str | None = None
    terms: tuple[str, ...] = ()
    value: float | None = None


Column = Mapping[str, Cell]
"""Cells by the name of their row."""


@dataclass(frozen=True, slots=True)
class SideRow:
    """A row: its name, a cell of each column, and the value of its best one, if any."""

    name: str
    cells: Sequence[Cell]
    winner: float | None

    def is_best(self, cell: Cell) -> bool:
        """Whether a cell has the best value of the row."""
        return self.winner is not None and cell.value == self.winner


def side_rows(columns: Sequence[Column], rows: Mapping[str, Best | None]) -> Iterator[SideRow]:
    """Yield the rows that some column has, in the order of `rows`; a dash where a column lacks
    one."""
    for name, best in rows.items():
        if any(name in column for column in columns):
            cells = [column.get(name, Cell(DASH)) for column in columns]
            yield SideRow(name, cells, _winner(cells, best))


def _winner(cells: Sequence[Cell], best: Best | None) -> float | None:
    values = {cell.value for cell in cells if cell.value is not None}
    is_told_apart = len({cell.shown for cell in cells}) > 1
    return best(values) if best and is_told_apart and len(values) > 1 else None
