"""GPUs side by side: one table, the field that adds a GPU, and the folds below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import is_text
from gpusizer.gpus import Gpu
from gpusizer.ui.presenters.beside.bars import PARTS, bar_bytes
from gpusizer.ui.presenters.beside.gpu_folds import gpu_folds_html
from gpusizer.ui.presenters.beside.side_cells import ROWS, boards_name, column_of
from gpusizer.ui.presenters.conclusion import concluded_of
from gpusizer.ui.presenters.pieces.side_table import side_rows
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.comparison import Comparison

Plans = Literal["same", "best"]
"""One quantization for all GPUs, or the best of each."""
PLANS: tuple[Plans, ...] = ("same", "best")


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a column; `pick` is how a visitor picked the GPU, None for another machine."""

    name: str
    gpu: Gpu
    pick: str | None


def side_by_side_html(
    comparison: Comparison | None,
    picks: Sequence[str],
    message: str,
    words: Words,
    examples: Markup | None = None,
    *,
    concluded: bool = False,
    plans: Plans = "best",
    machines: int = 0,
) -> Markup:
    """Write the picked GPUs in the order of picking, and the field that adds one; `concluded`, in
    the tab that has a field of its own for them, what is concluded of them instead. The first
    `machines` of them are the visitor's own.

    Without GPUs there are `examples`, if any.
    """
    said = concluded_of(comparison.conclusion, words) if comparison and concluded else None
    compared = _compared(comparison, picks, words, machines) if comparison else {"heads": ()}
    return render(
        "side_by_side.html",
        words,
        said=said,
        concluded=concluded,
        message=message,
        examples=examples,
        plans=plans,
        all_plans=PLANS,
        parts=(*PARTS, "free", "reserve"),
        **compared,
    )


def gpu_names_html(names: Sequence[str]) -> Markup:
    """Write the names that the field for adding a GPU suggests."""
    return piece("gpu_names", names)


def _compared(
    comparison: Comparison, picks: Sequence[str], words: Words, machines: int
) -> Mapping[str, object]:
    """Return the heads and rows of the table, and the folds below it."""
    items = comparison.items
    scale = max((bar_bytes(item.ranked.fit) for item in items if item.ranked), default=1)
    columns = [column_of(item, scale, words) for item in items]
    silent = comparison.profile is not None and not is_text(comparison.profile)
    rows = {name: best for name, best in ROWS.items() if not (silent and name == "decode")}
    return {
        "heads": [
            _Head(boards_name(item, words), item.gpu, None if at < machines else pick)
            for at, (item, pick) in enumerate(zip(items, picks, strict=True))
        ],
        "rows": side_rows(columns, rows),
        "sized": comparison.profile is not None,
        "folds": gpu_folds_html(comparison, words),
    }
