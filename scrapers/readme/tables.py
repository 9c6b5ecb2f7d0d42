"""What a row of a table in a model card says: quantized files, memory and GPUs. Pure.

A column is what its head says it is. The role of a table is that of its heads, its caption and
its headings; a single column may be about training in a table about running, and the other way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from gpusizer.hub.card_statements import Kind, ListedQuantization, ModelCardStatement
from scrapers.readme import words as cues
from scrapers.readme.claims import Claim, amounts_in, decimal, gpus_in
from scrapers.readme.context import context_statements, tokens_in
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


@dataclass(frozen=True)
class Row:
    """The cells of a row by the role of their columns."""

    block: Block
    roles: tuple[str, ...]

    @classmethod
    def of(cls, block: Block) -> Row:
        return cls(block, tuple(map(role_of, block.columns)))

    def cell(self, role: str) -> str:
        """The first cell of a role, "" for none."""
        return next((text for _, have, text in self.columns if have == role), "")

    @cached_property
    def columns(self) -> list[tuple[str, str, str]]:
        """Head, role and cell of each column; a cell beyond the heads has none."""
        return list(zip_longest(self.block.columns, self.roles, self.block.cells, fillvalue=""))

    @cached_property
    def labels(self) -> list[str]:
        """Cells that neither a role nor an amount nor a GPU explains: "serving"."""
        return [
            cell
            for _, role, cell in self.columns
            if not (role or amounts_in(cell) or gpus_in(cell))
        ]

    def amount_gb(self, role: str) -> float | None:
        """The first amount of memory in the cells of a role."""
        amounts = (_amount_gb(head, text) for head, have, text in self.columns if have == role)
        return next(filter(None, amounts), None)

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


def _amount_gb(head: str, text: str) -> float | None:
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
_TUNING = re.compile(r"(?:full|freeze|全参|冻结)\b", re.IGNORECASE)
"""Beginnings of ways to tune a model, in the cells of a table."""
_HARDWARE = re.compile(r"hardware|硬件", re.IGNORECASE)
_UNREAD_ROLES = frozenset({"branch", "file", "bits", "group_size", "host", "size", "context"})


def row_statements(block: Block, repo_name: str) -> list[ModelCardStatement]:
    """The statements of one row; none where its table is a measurement."""
    row = Row.of(block)
    listed = listed_quantization(row, repo_name)
    if listed is not None:
        return [listed]
    heads = [head for head, role, _ in row.columns if not role]
    if "batch" in row.roles or any(map(cues.BENCHMARK.is_in, heads)):
        return []
    if purpose_in(block.cells[0]) == "benchmark":
        return []
    needs = list(_needs(row))
    if needs or _purpose(row) in ("training", "benchmark"):
        return needs
    return [*_keyed(row), *_context(row)]


def _purpose(row: Row, head: str = "", text: str = "") -> str:
    """What a column of a row is about: its cell says it, else its head, the row's other words, the
    caption, and the headings from near to far, of which one that speaks of both says nothing.
    """
    for near in (text, head, *(row.labels if head else ())):
        is_tuning = cues.ADD_ON.is_in(near) or _TUNING.match(near)
        purpose = "training" if is_tuning else purpose_in(near)
        if purpose in ("training", "inference"):
            return purpose
    for near in () if cues.NEED.is_in(head) else row.surroundings:
        if not (cues.TRAINING.is_in(near) and cues.INFERENCE.is_in(near)) and purpose_in(near):
            return purpose_in(near)
    return ""


def _needs(row: Row) -> Iterator[ModelCardStatement]:
    """Memory and GPUs in columns that are about running the model."""
    base, speaks_of_need = _base(row), _speaks_of_need(row)
    gpus: list[ModelCardStatement] = []
    amounts: list[tuple[str, ModelCardStatement]] = []
    for position, (head, role, text) in enumerate(row.columns):
        purpose = _purpose(row, head or " ", text)
        role = "" if role == "context" and amounts_in(text) else role
        if role in _UNREAD_ROLES or purpose in ("training", "benchmark"):
            continue
        is_need = purpose == "inference" or speaks_of_need
        named = list(_gpus(base, row, head, text)) if role in ("", "gpu") else []
        if role == "gpu" or (named and is_need):
            gpus += named if is_need or {"memory", "quant"} & {*row.roles} else ()
        elif role == "memory" or (position and _is_memory(row, role, is_need=is_need)):
            amounts += ((head, item) for item in _amounts(base, row, head, text))
    if gpus and amounts:
        yield _together(gpus[0], *amounts[0])
        return
    counted = [stated for stated in gpus if stated.count] or gpus
    yield from (stated for stated in counted if stated.gpu)
    is_sibling = quant_in(row.cell("model")) and any(map(_SIBLING.search, row.block.columns))
    for _, stated in amounts:
        listed = replace(stated, kind="sibling_table", listed=ListedQuantization())
        yield listed if is_sibling else stated


def _together(gpu: ModelCardStatement, head: str, amount: ModelCardStatement) -> ModelCardStatement:
    """A GPU and an amount beside it: the memory of one, unless the head says how much is used."""
    says_need = cues.NEED.is_in(head) or purpose_in(head) == "inference"
    if gpu.vram_gb_per_gpu is None and not says_need and amount.vram_gb in _CARD_SIZES_GB:
        return replace(gpu, vram_gb_per_gpu=amount.vram_gb)
    bound = bound_of(head) if cues.MINIMUM.is_in(head) else gpu.bound
    kind: Kind = "recommended_vram" if bound == "recommended" else "gpus"
    return replace(gpu, kind=kind, bound=bound, vram_gb=amount.vram_gb)


def _gpus(base: ModelCardStatement, row: Row, head: str, text: str) -> Iterator[ModelCardStatement]:
    """The GPUs that a cell names; of a bare number those of its head or its row."""
    named = [gpu for gpu in gpus_in(text) if gpu.gpu or gpu.count]
    quant, number = base.quant or quant_in(head), whole_number(text)
    if not named and number in _COUNTS:
        own = [gpu for near in (head, *row.block.cells) for gpu in gpus_in(near) if gpu.gpu]
        known = own[:1] if quant else [Claim(0, 0)] if role_of(head) == "gpu" else []
        named = [replace(gpu, count=number) for gpu in known]
    for gpu in named:
        yield replace(
            base,
            kind="gpus",
            bound=bound_of(head, " ".join((*row.block.columns, row.block.introduction))),
            quant=quant,
            gpu=gpu.gpu,
            count=gpu.count,
            vram_gb_per_gpu=gpu.gb_per_gpu,
        )


def _is_memory(row: Row, role: str, *, is_need: bool) -> bool:
    """Whether amounts under a head that does not say so are memory: by the row's label, by the
    caption, or by words of need above a row of a model or a precision, or above lengths of context.
    """
    label, caption = row.block.cells[0], row.block.introduction
    if cues.VRAM.is_in(label):
        return True
    if role not in ("", "model", "quant"):
        return False
    if cues.VRAM.is_in(caption) and GB_IN_HEAD.search(caption):
        return True
    if not (is_need or any(map(_HARDWARE.search, row.surroundings[:2]))):
        return False
    is_model = is_need and (names_in(label) or row.roles[:1] in (("model",), ("quant",)))
    return bool(is_model or quant_mentions(label) or any(map(tokens_in, row.block.columns)))


def _amounts(
    base: ModelCardStatement, row: Row, head: str, text: str
) -> Iterator[ModelCardStatement]:
    """The amounts in a cell, a line of it each, with what its head and the line say of them."""
    label, caption = row.block.cells[0], row.block.introduction
    lengths = tokens_in(head)
    units = f"{head} {caption if cues.VRAM.is_in(caption) else ''}"
    for part in text.split("\n"):
        gb = _amount_gb(units, part)
        if gb is None or cues.SAVING.is_in(part):
            continue
        count = sum(amount.count for amount in amounts_in(part)[:1])
        mention = next(iter(quant_mentions(part)), None)
        bound = bound_of(part, f"{head} {label if cues.VRAM.is_in(label) else ''} {caption}")
        yield replace(
            base,
            kind=kind_of(None, bound),
            bound=bound,
            model=head[:100] if names_in(head) else base.model,
            vram_gb=gb * (count or 1),
            vram_gb_per_gpu=gb if count else None,
            count=count or None,
            quant=mention.slug if mention else base.quant or quant_in(head),
            bits=mention.bits if mention else base.bits,
            context=base.context or (lengths[0].tokens if lengths else None),
            with_offload="*" in part or cues.OFFLOAD.is_in(part),
            engine=engine_in(part) or base.engine,
        )


def _speaks_of_need(row: Row) -> bool:
    """Whether a table tells what runs the model: by its words or by its quantizations."""
    near = (" ".join(row.block.columns), *row.surroundings[:2])
    is_need = any(cues.NEED.is_in(text) or cues.NEED_HEADS.is_in(text) for text in near)
    is_inference = any(purpose_in(text) == "inference" for text in row.surroundings)
    return is_need or is_inference


def _base(row: Row) -> ModelCardStatement:
    """What a row says of its model, precision and context."""
    cells = " | ".join((row.cell("quant"), row.cell("model"), row.block.cells[0]))
    mentions = quant_mentions(cells) or quant_mentions(row.block.introduction)
    first = mentions[0] if mentions else None
    lengths = tokens_in(row.cell("context"), plain=True) or [
        item
        for item in tokens_in(row.block.introduction)
        if cues.CONTEXT.is_in(row.block.introduction)
    ]
    return ModelCardStatement(
        *("min_vram", row.block.line, row.block.last_line, row.block.text),
        is_requirement=True,
        model=None if amounts_in(row.cell("model")) else row.cell("model")[:100] or None,
        quant=first.slug if first else None,
        bits=first.bits if first else None,
        context=lengths[0].tokens if lengths else None,
        engine=engine_in(row.block.text),
    )


def _keyed(row: Row) -> Iterator[ModelCardStatement]:
    """Rows of a label and its values, in a table whose heads say nothing: a sentence each."""
    label, *values = row.block.cells
    if not values or len(values) > _MOST_VALUES or any(row.roles):
        return
    introduction = " ".join((*row.block.columns, row.block.introduction))
    block = replace(row.block, text=f"{label}: {', '.join(values)}", introduction=introduction)
    yield from list(prose_statements(block)) or context_statements(block)


def _context(row: Row) -> Iterator[ModelCardStatement]:
    """A model's context in its column."""
    lengths = tokens_in(row.cell("context"), plain=True)
    if lengths and "group_size" not in row.roles:
        base = _base(row)
        yield replace(base, kind="context", is_requirement=False, context=lengths[0].tokens)
