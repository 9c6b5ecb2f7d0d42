"""What every tab is built with: ready-made markup, fields, and listeners under private names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from gpusizer.text import Language
from gpusizer.ui.endpoints import CONCURRENCY, QUEUE
from gpusizer.ui.presenters.words import Words
from gpusizer.workload import DEFAULT_CONTEXT


@dataclass(frozen=True, slots=True)
class Listeners:
    """Options of the listeners of one page; their names differ from the public endpoints'."""

    language: Language

    def __call__(self, name: str) -> dict[str, Any]:
        """Of a listener that asks the Sizer."""
        return {
            **self.quiet(name),
            "show_progress": "hidden",
            "concurrency_id": QUEUE,
            "concurrency_limit": CONCURRENCY,
        }

    def quiet(self, name: str) -> dict[str, Any]:
        """Of a listener that runs in the browser."""
        return {"api_name": f"ui_{name}_{self.language}", "api_visibility": "private"}


def html(value: str, elem_id: str, script: str = "") -> gr.HTML:
    """Ready-made markup under the default template, which never evaluates it."""
    return gr.HTML(value, elem_id=elem_id, js_on_load=script or None, apply_default_css=False)


def query_box(elem_id: str) -> gr.Textbox:
    """The state of a tab, as the query string that brings it back; nobody sees it."""
    return gr.Textbox(visible="hidden", elem_id=elem_id, label="query")


def model_field(words: Words, elem_id: str, *, label: str = "model.label") -> gr.Textbox:
    """Where a model is pasted; Enter submits."""
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
    """The button beside such a field."""
    return gr.Button(words(label), variant="primary", scale=0, min_width=150, elem_id=elem_id)


def context_field(words: Words) -> gr.Number:
    """Tokens per sequence."""
    return gr.Number(
        DEFAULT_CONTEXT, label=words("context.label"), info=words("context.info"), precision=0
    )
