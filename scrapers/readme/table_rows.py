"""Rows of tables in a model card: what their columns hold, and the files that they list. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpusizer.hub.card_statements import ListedQuantization, ModelCardStatement
from scrapers.readme import words as cues
from scrapers.readme.hardware import amounts_in, decimal
from scrapers.readme.quants import quant_in
from scrapers.readme.text import Block

_HEAD_PATTERNS = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in cues.HEADS.items()}
_NUMBER = re.compile(r"^[~≈≥]?\s?(\d{1,4}(?:[.,]\d{1,3})?)\s?(?:G|GB|GiB)?\+?$")
_FILE = re.compile(r"[^ ]{1,180}\.(?:gguf|bin|safetensors)(?:\.part[^ ]{1,10})?", re.IGNORECASE)
GB_IN_HEAD = re.compile(r"\(?\b(?:in )?GB?\b\)?|/GB|GiB", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by the role of their columns."""

    block: Block
    roles: tuple[str, ...]

    @classmethod
    def of(cls, block: Block) -> Row:
        return cls(block, tuple(map(role_of, block.columns)))

    def cell(self, role: str) -> str:
        """The first cell of a role, "" for none."""
        for have, text in zip(self.roles, self.block.cells, strict=False):
            if have == role:
                return text
        return ""

    def cells(self, role: str) -> Iterator[tuple[str, str]]:
        """Heads and cells of a role."""
        heads = self.block.columns
        for have, head, text in zip(self.roles, heads, self.block.cells, strict=False):
            if have == role:
                yield head, text

    @property
    def surroundings(self) -> tuple[str, ...]:
        """Caption and headings, the nearest first."""
        return (self.block.introduction, *reversed(self.block.headings))


def role_of(head: str) -> str:
    """What a column holds, by its head."""
    if cues.BATCH_HEADS.is_in(head):
        return "batch"
    is_host = _HEAD_PATTERNS["host"].search(head) is not None
    if cues.VRAM.is_in(head) or (cues.MEMORY.is_in(head) and not is_host):
        return "memory"
    for role, pattern in _HEAD_PATTERNS.items():
        if pattern.search(head):
            return role
    return ""


def plain_number(text: str) -> float | None:
    """A cell that is nothing but a number."""
    number = _NUMBER.match(text)
    return decimal(number[1]) if number else None


def whole_number(text: str) -> int | None:
    """A cell that is nothing but a whole number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


def amount_gb(head: str, text: str) -> float | None:
    """The amount of memory in a cell, whose unit may stand in the head."""
    amounts = amounts_in(text)
    if amounts:
        return amounts[0].gb
    return plain_number(text) if GB_IN_HEAD.search(head) else None


def role_amount_gb(row: Row, role: str) -> float | None:
    """The first amount of memory in the cells of a role."""
    amounts = (amount_gb(head, text) for head, text in row.cells(role))
    return next((amount for amount in amounts if amount is not None), None)


def listed_quantization(row: Row, repo_name: str) -> ModelCardStatement | None:
    """A row of a table of quantized files or branches."""
    branch = row.cell("branch")
    file = _file_name(row)
    size_gb = role_amount_gb(row, "size")
    named = quant_in(row.cell("quant")) or quant_in(file or "")
    ram_gb, vram_gb = role_amount_gb(row, "host"), role_amount_gb(row, "memory")
    sizes = (size_gb, vram_gb, ram_gb)
    is_listed = branch or file or (named and size_gb is not None and any(row.block.links))
    if not is_listed or sizes == (None, None, None):
        return None
    bits = plain_number(row.cell("bits")) or plain_number(row.cell("quant"))
    return ModelCardStatement(
        *("sibling_table", row.block.line, row.block.last_line, row.block.text),
        is_requirement=ram_gb is not None or vram_gb is not None,
        vram_gb=vram_gb,
        quant=named or quant_in(repo_name),
        bits=bits if bits is not None and bits <= 32 else None,
        file=file,
        listed=ListedQuantization(
            branch=branch or None,
            group_size=whole_number(row.cell("group_size")),
            size_gb=size_gb,
            ram_gb=ram_gb,
        ),
    )


def _file_name(row: Row) -> str | None:
    """The file that a row links to or names."""
    names = [*row.block.links, *row.block.cells]
    return next((name for name in names if _FILE.fullmatch(name)), None)
