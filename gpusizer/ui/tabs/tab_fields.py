"""Parts that tabs share: ready-made markup, fields, and options of listeners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.text import Language
from gpusizer.ui.endpoints import CONCURRENCY, QUEUE
from gpusizer.ui.presenters.grid import Column, headers
from gpusizer.ui.presenters.words import Words

_GRID_HEIGHT = 640  # pixels; the stylesheet sets fewer on a phone


@dataclass(frozen=True, slots=True)
class Listeners:
    """Makes the options of one page's listeners, named so that none is a public endpoint."""

    language: Language

    def __call__(self, name: str) -> dict[str, Any]:
        """Return the options of a listener that calls the Sizer."""
        return {
            **self.quiet(name),
            "show_progress": "hidden",
            # A call while another one runs is kept back until that has ended, and never lost.
            "trigger_mode": "always_last",
            "concurrency_id": QUEUE,
            "concurrency_limit": CONCURRENCY,
        }

    def quiet(self, name: str) -> dict[str, Any]:
        """Return the options of a listener that runs in the browser."""
        return {"api_name": f"ui_{name}_{self.language}", "api_visibility": "private"}


def html(value: str, elem_id: str, script: str = "") -> gr.HTML:
    """Build a component for ready-made markup; Gradio's default template does not evaluate it."""
    return gr.HTML(value, elem_id=elem_id, js_on_load=script or None, apply_default_css=False)


def grid(
    columns: Sequence[Column[Any]], words: Words, elem_id: str, label: str, *, search: bool = True
) -> gr.Dataframe:
    """A table to sort and, with `search`, to search; absent until it is given rows.

    Its first column is pinned.

    Gradio's script fetches the code of tables when the first one becomes visible.
    """
    return gr.Dataframe(
        headers=headers(columns, words),
        datatype=[column.datatype for column in columns],
        column_count=len(columns),
        column_widths=[column.width or "auto" for column in columns],
        interactive=False,
        visible=False,
        show_search="search" if search else "none",
        pinned_columns=1,
        max_height=_GRID_HEIGHT,
        buttons=[],
        label=label,
        show_label=False,
        elem_id=elem_id,
        elem_classes=["gs-grid"],
    )


def part_fold(name: str, words: Words) -> gr.Accordion:
    """Build the fold of a part of a tab, which the old address of a tab of its own opens."""
    return gr.Accordion(
        words(f"tab.{name}"), open=False, elem_id=f"gs-{name}-fold", elem_classes=["gs-part-fold"]
    )


def query_box(elem_id: str) -> gr.Textbox:
    """Build a textbox that holds the state of a tab as a query string and is never shown.

    Gradio builds no element for it, but sends its value and tells its listeners of changes.
    """
    return gr.Textbox("", visible=False, elem_id=elem_id, label="query")


def model_field(words: Words, elem_id: str, *, label: str = "model.label") -> gr.Textbox:
    """Build the field for a model's ID; Enter submits."""
    return gr.Textbox(
        label=words(label),
        placeholder=words("model.placeholder"),
        max_lines=1,
        scale=1,
        html_attributes=gr.InputHTMLAttributes(
            autocorrect="off", autocapitalize="off", spellcheck=False
        ),
        elem_id=elem_id,
    )


def go_button(words: Words, elem_id: str, *, label: str = "go") -> gr.Button:
    """Build the button that submits a form."""
    return gr.Button(words(label), variant="primary", scale=0, min_width=150, elem_id=elem_id)


def number_field(
    label: str, info: str = "", usual: float | None = None, **options: Any
) -> gr.Number:
    """Build a field for a number; without a `usual` one it is empty until the visitor types.

    Gradio's script shows 0 for None when it builds the field, which happens when a fold or a tab
    first opens, and sends that 0 with every question. It leaves "" empty and sends it as it is, so
    that the field has no `precision` or bounds, which cannot take it: the request checks those.
    """
    value: Any = "" if usual is None else usual
    return gr.Number(value, label=label, info=info or None, **options)


def context_field(words: Words) -> gr.Number:
    """Build the field for the context, in tokens per sequence."""
    return number_field(words("context.label"), words("context.info"), DEFAULT_CONTEXT)
