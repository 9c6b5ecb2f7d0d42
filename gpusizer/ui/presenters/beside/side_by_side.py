"""GPUs side by side: one table, the field that adds a GPU, and the folds below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import is_text
from gpusizer.ui.presenters.beside.bars import bar_bytes
from gpusizer.ui.presenters.beside.gpu_folds import gpu_folds_html
from gpusizer.ui.presenters.beside.side_cells import ROWS, boards_name, column_of
from gpusizer.ui.presenters.conclusion import conclusion_html
from gpusizer.ui.presenters.pieces.html import button, choices, el, fold, join, section
from gpusizer.ui.presenters.pieces.marks import parts_legend
from gpusizer.ui.presenters.pieces.side_table import side_table_html
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.comparison import ComparedGpu, Comparison

Plans = Literal["same", "best"]
"""One quantization for all GPUs, or the best of each."""
PLANS: tuple[Plans, ...] = ("same", "best")


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
    items = comparison.items if comparison else ()
    empty = el("div", el("p", words("cards.empty")), examples, class_="gs-empty")
    return section(
        "cards",
        conclusion_html(comparison.conclusion, words)
        if comparison and concluded
        else words.heading("cards"),
        None if concluded else _adder(words),
        el("p", message, class_="gs-message", role="status") if message else None,
        _compared(comparison, picks, plans, words, machines) if comparison and items else empty,
        _own_cards(words),
    )


def gpu_names_html(names: Sequence[str]) -> Markup:
    """Write the names that the field for adding a GPU suggests."""
    return el("datalist", join(el("option", value=name) for name in names), id="gs-gpu-names")


def _compared(
    comparison: Comparison, picks: Sequence[str], plans: Plans, words: Words, machines: int
) -> Markup:
    """Write the table, above it what it is drawn with and how it is ordered, below it the folds."""
    items = comparison.items
    scale = max((bar_bytes(item.ranked.fit) for item in items if item.ranked), default=1)
    heads = [
        _head(item, None if at < machines else pick, words)
        for at, (item, pick) in enumerate(zip(items, picks, strict=True))
    ]
    columns = [column_of(item, scale, words) for item in items]
    named: dict[str, str] = {name: words(f"plans.{name}") for name in PLANS}
    buttons = choices("plans", named, words("plans.label"), plans)
    sized = comparison.profile is not None
    silent = comparison.profile is not None and not is_text(comparison.profile)
    rows = {name: best for name, best in ROWS.items() if not (silent and name == "decode")}
    return join(
        (
            render("plans_choice.html", words, buttons=buttons)
            if sized and len(items) > 1
            else None,
            side_table_html(heads, columns, rows, words),
            parts_legend(words, "free", "reserve") if sized else None,
            fold(words("cards.terms"), class_="gs-terms"),
            gpu_folds_html(comparison, words),
        )
    )


def _head(item: ComparedGpu, pick: str | None, words: Words) -> Markup:
    """Write the name of a GPU, with a button that removes a pick, and no other machine."""
    name = el("span", boards_name(item, words))
    if pick is None:
        mine = el("small", words("field.gpu.reverse"))
        return el("th", el("div", name), mine, scope="col", data_gpu=item.gpu.slug)
    label = words("cards.remove", gpu=item.gpu.name)
    remove = button("×", "gs-remove", data_remove=pick, aria_label=label)
    return el("th", el("div", name, remove), scope="col", data_gpu=item.gpu.slug)


def _adder(words: Words) -> Markup:
    return el(
        "form",
        el(
            "input",
            name="gpu",
            list="gs-gpu-names",
            maxlength=100,
            autocomplete="off",
            placeholder=words("cards.placeholder"),
            aria_label=words("cards.add.label"),
        ),
        el("button", words("cards.add"), type="submit", class_="gs-button"),
        class_="gs-adder",
    )


def _own_cards(words: Words) -> Markup:
    """Write how to state free memory or describe a card, and the place for cards remembered by the
    browser (`ui/page/scripts/own_cards.js`)."""
    return join(
        (
            el("p", words("cards.own"), class_="gs-small"),
            el(
                "div",
                el("span", words("cards.mine"), class_="gs-small"),
                el("span", class_="gs-chips"),
                class_="gs-own",
                hidden=True,
                data_forget_label=words("cards.forget", gpu="GPU"),
            ),
        )
    )
