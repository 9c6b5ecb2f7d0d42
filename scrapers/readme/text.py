"""CardText: a model card's Markdown as blocks of plain text with their positions. Pure.

markdown-it-py parses the blocks, and the text inside of a block only on demand, since most of a
card is never used. HTML is read for its text and its tables.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

MOST_LINES = 2_500
# Bounds of a card; the longest known has 120,000 characters without its metadata.
MOST_CHARS = 150_000
MOST_BLOCKS = 2_500
MOST_BLOCK_CHARS = 3_000
MOST_CODE_CHARS = 20_000
MOST_CELLS = 40
MOST_ROWS = 600
# Bounds of a row's cells, a table's rows, and the cells of all tables of a card.
MOST_CARD_CELLS = 4_000
_MOST_HTML_ROWS = 400
_UNREAD_TAGS = ("script", "style", "svg")
_HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BREAK_TAGS = ("br", "p", "div", "li")
# Marks of emphasis, code and links in one block; a block with more is shown as it is written.
_MOST_SPECIALS = 400

BlockKind = Literal["prose", "item", "code", "row"]
_SPECIALS = "`*_[<&\\"
_TITLE_CHARS = 200


# Without the rule for code by indentation: authors indent paragraphs, commands and HTML alike.
# The core rule "inline" parses the text of every block at once; `plain_text` does it on demand.
_PARSER = MarkdownIt("commonmark", {"html": True}).enable("table").disable(["code"])
_PARSER.core.ruler.disable("inline")
_INLINE = MarkdownIt("commonmark", {"html": True})


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, an item of a list, a code block or a row of a table."""

    kind: BlockKind
    text: str  # without marks; of code its content as it is
    line: int  # first line in the file, counted from 1; `last_line` is the last
    last_line: int
    headings: tuple[str, ...] = ()  # above the block, the nearest last
    introduction: str = ""  # paragraph above, and the outer items of a list
    item_before: str = ""  # text of the previous item in its list
    source: str = ""  # its Markdown, or the content of a code block
    columns: tuple[str, ...] = ()  # heads of a table's columns; `cells` are those of a row
    cells: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # last parts of the addresses in a row, by cell


@dataclass(frozen=True, slots=True)
class CardBlocks:
    """Blocks of a card, in order; without `are_all` only those of its beginning, by the limits."""

    blocks: Sequence[Block]
    are_all: bool


def card_blocks(text: str, first_line: int = 1) -> CardBlocks:
    """Return the blocks of a card."""
    lines = text[:MOST_CHARS].split("\n")
    tokens = _PARSER.parse("\n".join(lines[:MOST_LINES]))
    walk = _Walk(first_line)
    walk.through(tokens)
    is_whole = len(text) <= MOST_CHARS and len(lines) <= MOST_LINES
    return CardBlocks(walk.blocks, is_whole and not walk.leaves_out)


def plain_text(markdown: str) -> str:
    """Return the text of a block's Markdown; breaks are line ends.

    >>> plain_text("Needs **~9.5 GB** of `VRAM`<br>at [least](https://x)")
    'Needs ~9.5 GB of VRAM\\nat least'
    """
    source = markdown[:MOST_BLOCK_CHARS]
    if sum(map(source.count, _SPECIALS)) > _MOST_SPECIALS:
        return _normal(source)
    (inline,) = _INLINE.parseInline(source)
    return _normal("".join(map(_inline_text, inline.children or ())))


def _normal(text: str) -> str:
    # Full-width letters, digits and brackets become the usual ones.
    return unicodedata.normalize("NFKC", text)[:MOST_BLOCK_CHARS].strip()


def _inline_text(token: Token) -> str:
    if token.type == "softbreak":
        return " "
    if token.type == "hardbreak" or (token.type == "html_inline" and _is_break(token.content)):
        return "\n"
    return token.content if token.type in ("text", "code_inline") else ""


def _is_break(tag: str) -> bool:
    return tag.lower().startswith(("<br", "</p", "</div", "</li"))


def _link_name(inline: Token) -> str:
    source = inline.content[:MOST_BLOCK_CHARS]
    if "](" not in source or sum(map(source.count, _SPECIALS)) > _MOST_SPECIALS:
        return ""
    (parsed,) = _INLINE.parseInline(source)
    for child in parsed.children or ():
        if child.type == "link_open":
            address = str(child.attrGet("href") or "").partition("?")[0]
            return address.rstrip("/").rpartition("/")[2]
    return ""


@dataclass(slots=True)
class _List:
    # A list that is being walked through, and the text of its last item.
    introduction: str
    item: str = ""


class _Walk:
    # Walks once through the tokens of a card; `leaves_out` if some are beyond the limits.
    def __init__(self, first_line: int) -> None:
        self.blocks: list[Block] = []
        self.leaves_out = False
        self._first_line = first_line
        self._headings: list[tuple[int, str]] = []
        self._lists: list[_List] = []
        self._above = ""
        self._columns: tuple[str, ...] = ()
        self._row: list[Token] | None = None
        self._rows = 0
        self._cells = 0

    def through(self, tokens: Sequence[Token]) -> None:
        """Collect the blocks of these tokens."""
        for before, token in zip([*tokens[:1], *tokens], tokens, strict=False):
            if len(self.blocks) >= MOST_BLOCKS:
                self.leaves_out = True
                return
            self._visit(token, before)

    def _visit(self, token: Token, before: Token) -> None:
        if token.type == "inline":
            self._inline(token, before)
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            self._lists.append(_List(self._introduction()))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif token.type == "fence":
            source = self._beginning(token, MOST_CODE_CHARS)
            start, end = token.map or (0, 2)
            self.blocks.append(self._block("code", source, (start + 1, end), source))
        elif token.type == "html_block":
            self._html(token)
        elif token.type == "table_open":
            self._columns, self._rows = (), 0
        elif token.type == "tr_open":
            self._row = []
        elif token.type == "tr_close" and self._row is not None:
            self._close_row(self._row, token)
            self._row = None

    def _beginning(self, token: Token, most_chars: int) -> str:
        self.leaves_out |= len(token.content) > most_chars
        return token.content[:most_chars]

    def _introduction(self) -> str:
        # The items above a block, or the paragraph.
        if not self._lists:
            return self._above
        innermost = self._lists[-1]
        return f"{innermost.introduction}\n{innermost.item}"[-MOST_BLOCK_CHARS:].strip()

    def _inline(self, token: Token, before: Token) -> None:
        if self._row is not None:
            if len(self._row) < MOST_CELLS:
                self._row.append(token)
            else:
                self.leaves_out = True
            return
        text = plain_text(self._beginning(token, MOST_BLOCK_CHARS))
        if before.type == "heading_open":
            self._head(int(before.tag[1]), text)
        elif self._lists:
            own = self._lists[-1]
            block = self._block("item", text, token.map, token.content)
            item = replace(block, introduction=own.introduction, item_before=own.item)
            self.blocks.append(item)
            own.item = text
        else:
            self.blocks.append(self._block("prose", text, token.map, token.content))
            self._above = text

    def _head(self, level: int, title: str) -> None:
        outer_headings = [item for item in self._headings if item[0] < level]
        self._headings = [*outer_headings, (level, title[:_TITLE_CHARS])]
        self._above = ""

    def _close_row(self, row: list[Token], end: Token) -> None:
        if self._columns:
            self._rows += 1
        if self._rows > MOST_ROWS or self._cells + len(row) > MOST_CARD_CELLS:
            self.leaves_out = True
            return
        cells = tuple(plain_text(cell.content) for cell in row)
        if not self._columns:
            self._columns = cells
        elif row:
            self._add_row(cells, row[0].map or end.map, tuple(map(_link_name, row)))

    def _add_row(
        self, cells: tuple[str, ...], span: Sequence[int] | None, links: tuple[str, ...] = ()
    ) -> None:
        self._cells += len(cells)
        block = self._block("row", " | ".join(cells)[:MOST_BLOCK_CHARS], span)
        self.blocks.append(replace(block, columns=self._columns, cells=cells, links=links))

    def _html(self, token: Token) -> None:
        start = token.map[0] if token.map else 0
        self._columns = ()
        for row in _html_rows(self._beginning(token, MOST_CODE_CHARS)):
            cells = tuple(_normal(cell) for cell in row.cells[:MOST_CELLS])
            span = (start + row.line, start + row.last_line + 1)
            if row.tag in _HEADING_TAGS:
                self._head(int(row.tag[1]), cells[0])
            elif row.is_head:
                self._columns = cells
            elif len(cells) > 1 and self._cells + len(cells) > MOST_CARD_CELLS:
                self.leaves_out = True
            elif len(cells) > 1:
                self._add_row(cells, span)
            else:
                self.blocks.append(self._block("prose", cells[0], span))
                self._above = cells[0]

    def _block(
        self, kind: BlockKind, text: str, span: Sequence[int] | None, source: str = ""
    ) -> Block:
        start, end = span or (0, 1)
        lines = self._first_line + start, self._first_line + max(end - 1, start)
        titles = tuple(title for _, title in self._headings)
        source = source[:MOST_CODE_CHARS]
        return Block(kind, text, *lines, titles, self._introduction(), source=source)


@dataclass(slots=True)
class _HtmlRow:
    """A row of a table, a heading, or text outside of both as a single cell."""

    tag: str  # that it begins with, "" for none
    line: int  # of the HTML that it starts on, counted from 0; `last_line` has its last text
    last_line: int = 0
    cells: list[str] = field(default_factory=list)
    is_head: bool = False  # every cell is a head (`th`)


def _html_rows(html: str) -> Sequence[_HtmlRow]:
    """Return the rows of a piece of HTML, which need not be well-formed.

    >>> [row.cells for row in _html_rows("<td>VRAM</td>\\n<td><b>INT8: 4GB</b><br>from")]
    [['VRAM', 'INT8: 4GB\\nfrom']]
    """
    parser = _RowParser()
    parser.feed(html)
    parser.close()
    rows = [replace(row, cells=[cell.strip() for cell in row.cells]) for row in parser.rows]
    return [row for row in rows if any(row.cells)]


class _RowParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows = [_HtmlRow("", 0)]
        self._unread = 0
        self._is_open = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        row = self.rows[-1]
        if tag in _UNREAD_TAGS:
            self._unread += 1
        elif tag in ("tr", "table", *_HEADING_TAGS):
            self._start_row(tag)
        elif tag in ("td", "th"):
            row.is_head = tag == "th" and (row.is_head or not row.cells)
            row.cells.append("")
            self._is_open = True
        elif tag in _BREAK_TAGS:
            self._write("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD_TAGS:
            self._unread = max(self._unread - 1, 0)
        elif tag in ("td", "th"):
            self._is_open = False
        elif tag in ("table", *_HEADING_TAGS):
            self._start_row("")
        elif tag in _BREAK_TAGS:
            self._write("\n")

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._unread:
            self._write(f" {text}" if data[0].isspace() else text)

    def _write(self, text: str) -> None:
        row = self.rows[-1]
        row.last_line = max(self.getpos()[0] - 1, row.line)
        if text.strip() and not self._is_open:
            row.cells.append("")
            self._is_open = True
        if row.cells:
            row.cells[-1] += text

    def _start_row(self, tag: str) -> None:
        if len(self.rows) < _MOST_HTML_ROWS:
            line = self.getpos()[0] - 1
            self.rows.append(_HtmlRow(tag, line, line))
            self._is_open = False
