"""The text and the tables of HTML in a model card, as rows of cells. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

_MOST_ROWS = 400
_UNREAD = ("script", "style", "svg")
_BREAKS = ("br", "p", "div", "li")


@dataclass(slots=True)
class HtmlRow:
    """A row of a table, or text outside of one as a single cell.

    Attributes:
        line: of the HTML that it starts on, counted from 0; `last_line` has its last text.
        is_head: every cell is a head (`th`).
    """

    line: int
    cells: list[str] = field(default_factory=list)
    is_head: bool = False
    last_line: int = 0


def html_rows(html: str) -> Sequence[HtmlRow]:
    """The rows of a piece of HTML, which need not be well-formed.

    >>> [row.cells for row in html_rows("<td>VRAM</td>\\n<b>INT8: 4GB</b><br>from")]
    [['VRAM', 'INT8: 4GB\\nfrom']]
    """
    parser = _RowParser()
    parser.feed(html)
    parser.close()
    rows = [replace(row, cells=[cell.strip() for cell in row.cells]) for row in parser.rows]
    return [row for row in rows if any(row.cells)]


class _RowParser(HTMLParser):
    """Collects rows. Text outside of cells is a cell of its own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[HtmlRow] = []
        self._starts_cell = True
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _UNREAD:
            self._unread += 1
        elif tag in ("tr", "table"):
            self._start_row(is_head=tag == "tr")
        elif tag in ("td", "th"):
            row = self._row()
            row.is_head = row.is_head and tag == "th"
            row.cells.append("")
            self._starts_cell = False
        elif tag in _BREAKS:
            self._write("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD:
            self._unread = max(self._unread - 1, 0)
        elif tag in ("td", "th"):
            self._starts_cell = True
        elif tag == "table":
            self._start_row(is_head=False)
        elif tag in _BREAKS:
            self._write("\n")

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._unread:
            self._write(f" {text}" if data[0].isspace() else text)

    def _write(self, text: str) -> None:
        row = self._row()
        if self._starts_cell and text.strip():
            row.cells.append("")
            self._starts_cell = False
        row.last_line = self.getpos()[0] - 1
        if not self._starts_cell:
            row.cells[-1] += text

    def _row(self) -> HtmlRow:
        if not self.rows:
            self._start_row(is_head=False)
        return self.rows[-1]

    def _start_row(self, *, is_head: bool) -> None:
        if len(self.rows) < _MOST_ROWS:
            self.rows.append(HtmlRow(self.getpos()[0] - 1, is_head=is_head))
            self._starts_cell = True
