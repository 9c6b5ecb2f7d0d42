"""What every command prints with: one JSON document, or lines and tables of padded columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpusizer.core.printable import json_text, printable
from gpusizer.core.units import GIB
from gpusizer.memory.breakdown import Breakdown

Json = dict[str, Any]


def print_json(document: Json) -> None:
    """Print one JSON document on one line of standard output."""
    print(json_text(document), flush=True)


def print_text(text: str) -> None:
    """Print lines for people on standard output."""
    print(printable(text, keep="\n"))


def lines_text(lines: Iterable[str]) -> str:
    """Lines of text: a line end that a stranger wrote begins none."""
    return "\n".join(map(printable, lines))


def memory_cells(memory: Breakdown) -> tuple[str, ...]:
    """Likely GiB of weights, cache, activations and overhead, and of all together."""
    amounts = (*memory.likely_bytes.values(), memory.total.likely)
    return tuple(f"{amount / GIB:.2f}" for amount in amounts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text under a head, with columns padded to their widest cell."""
    cells = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
