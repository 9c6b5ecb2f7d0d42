"""What a row of a table in a model card says: quantized files, memory and GPUs. Pure.

A column is what its head says it is. The role of a table is that of its heads, its caption and
its headings; a single column may be about training in a table about running, and the other way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpusizer.hub.card_statements import Kind, ListedQuantization, ModelCardStatement
from scrapers.readme import words as cues
from scrapers.readme.claims import amounts_in, decimal, gpus_in
from scrapers.readme.context import tokens_in
from scrapers.readme.prose import (
    bound_of,
    engine_in,
    kind_of,
    prose_statements,
    purpose_in,
)
from scrapers.readme.quants import names_in, quant_in, quant_mentions
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
        return next((text for _, text in self.cells(role)), "")

    @property
    def columns(self) -> Iterator[tuple[str, str, str]]:
        """Head, role and cell of each column."""
        return zip(self.block.columns, self.roles, self.block.cells, strict=False)

    def cells(self, role: str) -> Iterator[tuple[str, str]]:
        """Heads and cells of a role."""
        return ((head, text) for head, have, text in self.columns if have == role)

    def amount_gb(self, role: str) -> float | None:
        """The first amount of memory in the cells of a role."""
        amounts = (amount_gb(head, text) for head, text in self.cells(role))
        return next((amount for amount in amounts if amount is not None), None)

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


def listed_quantization(row: Row, repo_name: str) -> ModelCardStatement | None:
    """A row of a table of quantized files or branches."""
    branch = row.cell("branch")
    file = _file_name(row)
    size_gb = row.amount_gb("size")
    named = quant_in(row.cell("quant")) or quant_in(file or "")
    ram_gb, vram_gb = row.amount_gb("host"), row.amount_gb("memory")
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


_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of GPUs that servers have; other whole numbers in a table are something else."""
_CARD_SIZES_GB = (8, 12, 16, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 192, 256, 288)
_MOST_VALUES = 2
_SIBLING = re.compile(r"download|link|下载|链接|baixar", re.IGNORECASE)


def row_statements(block: Block, repo_name: str) -> list[ModelCardStatement]:
    """The statements of one row; none where it is about training, a measurement or neither."""
    row = Row.of(block)
    listed = listed_quantization(row, repo_name)
    if listed is not None:
        return [listed]
    if _is_about_other(row):
        return []
    needs = [*_counts(row), *_captioned(row), *_labelled(row)] or list(_needs(row))
    return needs or [*_keyed(row), *_context(row)]


def _is_about_other(row: Row) -> bool:
    """Whether heads, caption or headings say training or a measurement, the nearest deciding."""
    heads = [head for head, role, _ in row.columns if not role]
    if "batch" in row.roles or any(map(cues.BENCHMARK.is_in, heads)):
        return True
    for text in row.surroundings:
        purpose = purpose_in(text)
        if purpose:
            return purpose != "inference"
    return False


def _needs(row: Row) -> Iterator[ModelCardStatement]:
    """Memory and GPUs in columns that are about running the model.

    An amount beside a GPU is the memory of one, unless the head says how much is used.
    """
    amounts = [
        (head, gb)
        for head, text in row.cells("memory")
        if purpose_in(head) not in ("training", "benchmark") and not cues.SAVING.is_in(text)
        if (gb := amount_gb(head, text)) is not None
    ]
    gpus = [
        gpu
        for head, text in row.cells("gpu")
        if purpose_in(head) != "training"
        for gpu in gpus_in(text)
        if gpu.gpu or gpu.count
    ]
    base, introduction = _base(row), row.block.introduction
    bound = bound_of(" ".join(row.block.columns), introduction)
    if gpus and amounts:
        head, gb = amounts[0]
        base = replace(base, kind="gpus", bound=bound, gpu=gpus[0].gpu, count=gpus[0].count)
        says_need = cues.NEED.is_in(head) or purpose_in(head) == "inference"
        if gpus[0].gb_per_gpu is None and not says_need and gb in _CARD_SIZES_GB:
            yield replace(base, vram_gb_per_gpu=gb)
            return
        kind: Kind = "recommended_vram" if bound == "recommended" else "gpus"
        yield replace(base, kind=kind, vram_gb=gb, vram_gb_per_gpu=gpus[0].gb_per_gpu)
        return
    for gpu in gpus if _speaks_of_need(row) else []:
        named = replace(base, kind="gpus", bound=bound, gpu=gpu.gpu, count=gpu.count)
        yield replace(named, vram_gb_per_gpu=gpu.gb_per_gpu)
    for head, gb in amounts:
        bound = bound_of(head, introduction)
        stated = replace(base, bound=bound, vram_gb=gb, quant=base.quant or quant_in(head))
        if _is_sibling(row):
            yield replace(stated, kind="sibling_table", listed=ListedQuantization())
        else:
            yield replace(stated, kind=kind_of(None, bound))


def _speaks_of_need(row: Row) -> bool:
    """Whether a table of GPUs tells what runs the model: by its words or by its quantizations."""
    near = (" ".join(row.block.columns), *row.surroundings[:2])
    is_need = any(cues.NEED.is_in(text) or cues.NEED_HEADS.is_in(text) for text in near)
    is_inference = any(purpose_in(text) == "inference" for text in row.surroundings)
    return is_need or is_inference or "quant" in row.roles


def _is_sibling(row: Row) -> bool:
    """Whether a row is a quantized repository to be had beside this one."""
    return bool(quant_in(row.cell("model"))) and any(map(_SIBLING.search, row.block.columns))


def _base(row: Row) -> ModelCardStatement:
    """What a row says of its model, precision and context."""
    cells = " | ".join((row.cell("quant"), row.cell("model"), row.block.cells[0]))
    mentions = quant_mentions(cells) or quant_mentions(row.block.introduction)
    first = mentions[0] if mentions else None
    lengths = tokens_in(row.cell("context"), plain=True) or tokens_in(row.block.introduction)
    return ModelCardStatement(
        *("min_vram", row.block.line, row.block.last_line, row.block.text),
        is_requirement=True,
        model=row.cell("model")[:100] or None,
        quant=first.slug if first else None,
        bits=first.bits if first else None,
        context=lengths[0].tokens if lengths else None,
        engine=engine_in(row.block.text),
    )


def _counts(row: Row) -> Iterator[ModelCardStatement]:
    """Numbers of GPUs: a GPU to a row and a quantization to a column, or the other way."""
    if not _speaks_of_need(row):
        return
    base = _base(row)
    own = next((gpu for cell in row.block.cells for gpu in gpus_in(cell) if gpu.gpu), None)
    for head, _, cell in row.columns:
        count = whole_number(cell)
        if count not in _COUNTS:
            continue
        over = next((gpu for gpu in gpus_in(head) if gpu.gpu), None)
        gpu, quant = (own, quant_in(head)) if over is None else (over, base.quant)
        if gpu is not None and quant is not None:
            bound = bound_of(row.block.introduction)
            yield replace(
                base,
                kind="gpus",
                bound=bound,
                gpu=gpu.gpu,
                count=count,
                quant=quant,
                vram_gb_per_gpu=gpu.gb_per_gpu,
            )


def _keyed(row: Row) -> Iterator[ModelCardStatement]:
    """Rows of a label and its value, in a table whose heads say nothing: a sentence each."""
    label, *values = row.block.cells
    if values and len(values) <= _MOST_VALUES and not any(row.roles):
        text = f"{label}: {', '.join(values)}"
        introduction = " ".join((*row.block.columns, row.block.introduction))
        yield from prose_statements(replace(row.block, text=text, introduction=introduction))


def _context(row: Row) -> Iterator[ModelCardStatement]:
    """A model's context in its column."""
    lengths = tokens_in(row.cell("context"), plain=True)
    if lengths and "group_size" not in row.roles:
        base = _base(row)
        yield replace(base, kind="context", is_requirement=False, context=lengths[0].tokens)


def _captioned(row: Row) -> Iterator[ModelCardStatement]:
    """Columns of models whose cells are bare numbers of gigabytes, as the caption says."""
    caption = row.block.introduction
    if not (cues.VRAM.is_in(caption) and GB_IN_HEAD.search(caption)):
        return
    base = _base(row)
    for head, role, text in row.columns:
        stated = plain_number(text)
        if stated is not None and role in ("", "model") and (names_in(head) or role == "model"):
            yield replace(base, model=head[:100], bound="approximate", vram_gb=stated)


def _labelled(row: Row) -> Iterator[ModelCardStatement]:
    """Rows whose first cell says memory: each further cell holds amounts, a model to a column."""
    label = row.block.cells[0]
    if not cues.VRAM.is_in(label) or purpose_in(label) in ("training", "benchmark"):
        return
    base = _base(row)
    heads = row.block.columns or ("",) * len(row.block.cells)
    for head, text in zip(heads[1:], row.block.cells[1:], strict=False):
        for part in text.split("\n"):
            amounts, quant = amounts_in(part), next(iter(quant_mentions(part)), None)
            if amounts:
                yield replace(
                    base,
                    bound=bound_of(part, label),
                    model=head[:100] if names_in(head) else None,
                    vram_gb=amounts[0].gb,
                    quant=quant.slug if quant else None,
                    bits=quant.bits if quant else None,
                    with_offload="*" in part or cues.OFFLOAD.is_in(part),
                    engine=engine_in(part),
                )
