"""Grid: a sortable, searchable table as pandas frames for `gr.Dataframe`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from gpusizer.core.printable import printable
from gpusizer.ui.presenters.addresses import question_href
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.words import Words

Datatype = Literal["number", "str", "html"]

_LARGEST = 9e99
"""Value by which an unknown price or power is sorted.

The browser compares null as zero, which would sort unknown prices before the lowest one.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a grid.

    Attributes:
        name: key of its heading, `page.column.<name>`.
        datatype: type of the shown values. Only markup made by `el`, which escapes, may be "html".
        ascending: people look for the least values, so that unknown ones are sorted as largest.
        width: pixels; 0 for a width by the contents of the widest cell.
    """

    name: str
    datatype: Datatype = "number"
    ascending: bool = False
    width: int = 0


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of a grid.

    Attributes:
        values: values for sorting and searching, numbers as numbers.
        shown: text or markup of each cell, in a frame of the same shape.
    """

    values: pd.DataFrame
    shown: pd.DataFrame

    def value(self, columns: Sequence[Column], words: Words) -> dict[str, Any]:
        """Return the value of a `gr.Dataframe`, which sorts `data` but shows `display_value`."""
        names = [column.name for column in columns]
        unknown = {column.name: _LARGEST for column in columns if column.ascending}
        values = printable_cells(self.values[names].fillna(unknown)).astype(object)
        return {
            "headers": headers(columns, words),
            "data": values.where(values.notna(), None).to_numpy().tolist(),
            "metadata": {"display_value": printable_cells(self.shown[names]).to_numpy().tolist()},
        }


def printable_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with texts as `printable` leaves them: Gradio shows them as they are."""
    return frame.map(lambda cell: printable(cell) if isinstance(cell, str) else cell)


def headers(columns: Sequence[Column], words: Words) -> list[str]:
    """Return the headings of columns in one language."""
    return [words(f"column.{column.name}") for column in columns]


def shown(values: pd.Series[Any], write: Callable[[float], str]) -> pd.Series[Any]:
    """Write numbers as texts, a dash for unknown ones."""
    return values.map(lambda value: DASH if pd.isna(value) else write(value)).astype(object)


def named(name: str | Html, detail: str | Html) -> Html:
    """Write a name with small print below it."""
    return el("div", el("strong", name), el("small", detail), class_="gs-named")


def gpu_cell(name: str, detail: str, slug: str, words: Words, rank: int | None = None) -> Html:
    """Write a GPU's name with a link that adds it to the comparison.

    The link stands in the name's cell, because that column is pinned and stays in sight. It is not
    a button, because Gradio's table captures the Enter key of buttons.
    """
    link = el(
        "a",
        words("pick"),
        href=question_href({"tab": "compare", "gpus": slug}, words.language),
        class_="gs-button",
        data_pick=slug,
        aria_label=words("pick.label", gpu=name),
    )
    number = None if rank is None else el("span", str(rank), class_="gs-rank")
    return el("div", number, named(name, detail), link, class_="gs-gpu")
