"""Statements of a table's row in a model card: quantized files, and a sentence for each cell. Pure.

The sentence of a cell is the row's words, the head of the cell's column and the cell: "serving,
int8, Hardware: 2 x L40S". It is read as any other sentence, under the table's caption and headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from gpusizer.hub.card_statements import ListedQuantization, ModelCardStatement
from scrapers.readme.claims import amounts_in, decimal, gpus_in
from scrapers.readme.context import context_statements
from scrapers.readme.prose import prose_statements
from scrapers.readme.quants import quant_in
from scrapers.readme.text import Block
from scrapers.readme.words import HEADS, says

_HEAD_PATTERNS = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in HEADS.items()}
_NUMBER = re.compile(r"^[~≈≥]?\s?(\d{1,4}(?:[.,]\d{1,3})?)\s?(?:G|GB|GiB)?\+?$")
_FILE = re.compile(r"[^ ]{1,180}\.(?:gguf|bin|safetensors)(?:\.part[^ ]{1,10})?", re.IGNORECASE)
_GB_IN_HEAD = re.compile(r"\(?\b(?:in )?GB?\b\)?|/GB|GiB", re.IGNORECASE)
# Numbers of GPUs that servers have; other whole numbers in a table have another meaning.
_COUNTS = frozenset(["1", "2", "3", "4", "6", "8", "12", "16", "24", "32"])
# Most characters of a row's words, which begin the sentence of each cell.
_MOST_WORDS_CHARS = 600
_UNREAD_ROLES = frozenset({"branch", "file", "bits", "group_size", "host", "size"})


@dataclass(frozen=True)
class Row:
    """The cells of a row by the role of their columns."""

    block: Block

    @cached_property
    def columns(self) -> list[tuple[str, str, str]]:
        """Head, role and cell of each column; a cell beyond the heads has none."""
        heads, cells = self.block.columns, self.block.cells
        return [
            (head, role_of(head), cell) for head, cell in zip_longest(heads, cells, fillvalue="")
        ]

    @cached_property
    def gpu(self) -> str | None:
        """The first GPU that a cell names."""
        mentions = (gpu.gpu for cell in self.block.cells for gpu in gpus_in(cell))
        return next((name for name in mentions if name), None)

    def cell(self, role: str) -> str:
        """Return the first cell of a role, "" for none."""
        return next((text for _, have, text in self.columns if have == role), "")

    def amount_gb(self, role: str) -> float | None:
        """Return the first amount of memory in GB in the cells of a role."""
        amounts = (
            amounts_in(_with_unit(head, text)) for head, have, text in self.columns if have == role
        )
        return next((found[0].gb for found in amounts if found), None)


def role_of(head: str) -> str:
    """Return the role of a column by its head."""
    if says("batch_heads", head):
        return "batch"
    is_host = _HEAD_PATTERNS["host"].search(head) is not None
    if says("vram", head) or (says("memory", head) and not is_host):
        return "memory"
    return next((role for role, pattern in _HEAD_PATTERNS.items() if pattern.search(head)), "")


def _with_unit(head: str, text: str) -> str:
    # A cell with only a number gets the unit of its head.
    return (
        f"{text} GB"
        if _NUMBER.match(text) and not amounts_in(text) and _GB_IN_HEAD.search(head)
        else text
    )


def _number(text: str) -> float | None:
    number = _NUMBER.match(text)
    return decimal(number[1]) if number else None


def row_statements(block: Block, repo_name: str) -> list[ModelCardStatement]:
    """Return the statements of one row; none if its table is a measurement."""
    row = Row(block)
    listed = listed_quantization(row, repo_name)
    if listed is not None:
        return [listed]
    heads = [head for head, role, _ in row.columns if not role]
    if any(role == "batch" for _, role, _ in row.columns) or any(
        says("benchmark", text) for text in heads
    ):
        return []
    needs = [item for sentence in _hardware(row) for item in prose_statements(sentence)]
    said = needs or [item for sentence in _contexts(row) for item in context_statements(sentence)]
    model = row.cell("model")[:100] or None
    return [replace(item, quote=block.text, model=item.model or model) for item in said]


def _hardware(row: Row) -> Iterator[Block]:
    # A sentence for each cell with memory or GPUs, one for each line of the cell.
    words = [
        f"{head} {cell}" if role == "context" else cell
        for head, role, cell in row.columns
        if role not in _UNREAD_ROLES and cell and not (_names_hardware(cell) or _NUMBER.match(cell))
    ]
    said = [", ".join(words)[:_MOST_WORDS_CHARS]] if words else []
    for head, cell in _counts(row) or _cells(row):
        lines = (", ".join((*said, f"{head}: {part}")) for part in cell.split("\n"))
        yield replace(row.block, text="\n".join(lines))


def _counts(row: Row) -> list[tuple[str, str]]:
    # Numbers of GPUs that the head or the row names.
    counts = []
    for head, _, text in row.columns:
        if text in _COUNTS:
            in_head = gpus_in(head)
            named = next((gpu.gpu for gpu in in_head if gpu.gpu), row.gpu)
            if named:
                counts.append(("" if in_head else head, f"{text} x {named}"))
    return counts


def _cells(row: Row) -> list[tuple[str, str]]:
    # Memory next to a GPU is that of one GPU, unless it is a need.
    caption = row.block.introduction if says("vram", row.block.introduction) else ""
    cells = []
    for head, role, text in row.columns:
        is_count = role == "gpu" and text in _COUNTS
        cell = f"{text} GPUs" if is_count else _with_unit(f"{head} {caption}", text)
        if role not in _UNREAD_ROLES and (is_count or _names_hardware(cell)):
            cells.append((role, head, cell))
    if [role for role, _, _ in cells] == ["gpu", "memory"] and not says("need", cells[1][1]):
        (_, head, gpus), (_, _, memory) = cells
        return [(head, f"{gpus} ({memory})")]
    return [(head, cell) for _, head, cell in cells]


def _names_hardware(cell: str) -> bool:
    return bool(amounts_in(cell)) or any(gpu.gpu for gpu in gpus_in(cell))


def _contexts(row: Row) -> Iterator[Block]:
    # The row as a label with its values, and each context length with its unit.
    label, *values = row.block.cells
    yield replace(row.block, text=f"{label}: {', '.join(values[:2])}")
    for head, role, text in row.columns:
        if role == "context" and not row.cell("group_size"):
            yield replace(row.block, text=f"{head}: {text} tokens")


def listed_quantization(row: Row, repo_name: str) -> ModelCardStatement | None:
    """Return the statement of a row in a table of quantized files or branches, None for others."""
    branch, size_gb = row.cell("branch"), row.amount_gb("size")
    file = next(
        (name for name in (*row.block.links, *row.block.cells) if _FILE.fullmatch(name)), None
    )
    named = quant_in(row.cell("quant")) or quant_in(file or "")
    ram_gb, vram_gb = row.amount_gb("host"), row.amount_gb("memory")
    is_listed = branch or file or (named and size_gb is not None and any(row.block.links))
    if not is_listed or (size_gb, vram_gb, ram_gb) == (None, None, None):
        return None
    bits = _number(row.cell("bits")) or _number(row.cell("quant"))
    group_size = row.cell("group_size")
    return ModelCardStatement(
        *("sibling_table", row.block.line, row.block.last_line, row.block.text),
        is_requirement=ram_gb is not None or vram_gb is not None,
        vram_gb=vram_gb,
        quant=named or quant_in(repo_name),
        bits=bits if bits is not None and bits <= 32 else None,
        file=file,
        listed=ListedQuantization(
            branch=branch or None,
            group_size=int(group_size)
            if group_size.isascii() and group_size.isdecimal() and len(group_size) < 6
            else None,
            size_gb=size_gb,
            ram_gb=ram_gb,
        ),
    )
