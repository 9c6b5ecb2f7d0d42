"""Parts that tabs share: ready-made markup, fields, and options of listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, TypeVar

import gradio as gr
from gradio.blocks import BlockContext
from gradio.components import Component

from gpusizer.core.messages import Note
from gpusizer.memory.engines import ENGINES
from gpusizer.text import Language
from gpusizer.ui.page.forms import CHIPS, FORMS, LINES, MENUS, OPEN_MENUS, purpose_of
from gpusizer.ui.presenters.pieces.grid import Column, headers
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.endpoints import QUEUE
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.training_report import method_name

_GRID_HEIGHT = 640  # pixels; the stylesheet sets fewer on a phone
_LINES, _MOST_LINES = 4, 12  # of a text of several lines
_NUMBER_WIDTH = 150  # pixels, at least
_STEPS = {"acceptance_rate": 0.05}
_NAME = gr.InputHTMLAttributes(autocorrect="off", autocapitalize="off", spellcheck=False)

# Labels of menu choices that differ from the request's value.
_CHOICES: Mapping[str, Callable[[str, Words], str]] = {
    "engine": lambda slug, words: ENGINES[slug].name,
    "max_loss": lambda word, words: words.note(Note(f"loss_{word}")),
    "method": lambda method, words: method_name(method),
}

# output of a listener: a field, markup or a table; a fold or a column, which opens
Part = Component | BlockContext
Field = gr.Textbox | gr.Number | gr.Checkbox | gr.Dropdown | gr.Radio  # input of a visitor
_Row = TypeVar("_Row")


class QuietOptions(TypedDict):
    """Options of a listener that runs in the browser, as Gradio names them."""

    api_name: str
    api_visibility: Literal["private"]


class ListenerOptions(QuietOptions):
    """Options of a listener that calls the Sizer."""

    show_progress: Literal["hidden"]
    trigger_mode: Literal["always_last"]
    concurrency_id: str
    concurrency_limit: None


@dataclass(frozen=True, slots=True)
class Listeners:
    """Options of one page's listeners, named so that none is a public endpoint."""

    language: Language

    def __call__(self, name: str) -> ListenerOptions:
        """Return the options of a listener that calls the Sizer."""
        return {
            **self.quiet(name),
            "show_progress": "hidden",
            # A call while another one runs is kept back until that has ended, and never lost.
            "trigger_mode": "always_last",
            "concurrency_id": QUEUE,
            "concurrency_limit": None,  # of the pool (`FairQueue`)
        }

    def quiet(self, name: str) -> QuietOptions:
        """Return the options of a listener that runs in the browser."""
        return {"api_name": f"ui_{name}_{self.language}", "api_visibility": "private"}


def html(value: str, elem_id: str, script: str = "") -> gr.HTML:
    """Build a component for ready-made markup; Gradio's default template does not evaluate it."""
    return gr.HTML(value, elem_id=elem_id, js_on_load=script or None, apply_default_css=False)


def grid(
    columns: Sequence[Column[_Row]], words: Words, elem_id: str, label: str, *, search: bool = True
) -> gr.Dataframe:
    """Build a table to sort and, with `search`, to search; hidden until it has rows.

    Its first column is pinned. Gradio's script fetches the code of tables when the first one
    becomes visible.
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
    """Build a hidden textbox that holds the state of a tab as a query string.

    Gradio builds no element for it, but sends its value and notifies its listeners of changes.
    """
    return gr.Textbox("", visible=False, elem_id=elem_id, label="query")


def prefix(tab: str) -> str:
    """Return the prefix of the ids of a tab's elements."""
    return "gs" if tab == "size" else f"gs-{tab}"


def go_button(tab: str, words: Words) -> gr.Button:
    """Build the button that submits the form of a tab or a part of one."""
    elem_id = f"{prefix(tab)}-go"
    return gr.Button(
        words(f"ask.{tab}"), variant="primary", scale=0, min_width=150, elem_id=elem_id
    )


class _Told(TypedDict):
    """Options of every kind of field."""

    label: str
    info: str | None
    elem_id: str
    elem_classes: list[str]


def field(tab: str, name: str, words: Words) -> Field:
    """Build a field of a tab's form, of the kind and with the default that its request states.

    Gradio's script shows 0 for None when it builds a number, which happens when a fold or a tab
    first opens, and sends that 0 with every question. It leaves "" empty and sends it unchanged, so
    a number has no `precision` or bounds, which cannot take it: the request checks those.
    """
    form = FORMS[tab]
    kind, default = form.kind(name), described_fields(form.request)[name].default
    usual = ""
    if kind is float and isinstance(default, int | float) and default:
        usual = words.number(default, "g")
    value = form.values({}, (name,))[name]
    options: _Told = {
        "label": words.optional(f"field.{name}.{tab}") or words(f"field.{name}.label"),
        "info": words.optional(f"field.{name}.info", usual=usual),
        "elem_id": f"{prefix(tab)}-{name}",
        "elem_classes": _classes(tab, name),
    }
    if name in MENUS:
        choices = [(_choice(name, choice, words), choice) for choice in MENUS[name]]
        if name in CHIPS:
            return gr.Radio(choices, value=value, **options)
        return gr.Dropdown(choices, value=value, allow_custom_value=name in OPEN_MENUS, **options)
    if kind is bool:
        return gr.Checkbox(value is True, **options)
    if kind is not str:
        step = _STEPS.get(name, 1)
        # "" means no value, which Gradio's types leave out.
        return gr.Number(value, step=step, min_width=_NUMBER_WIDTH, **options)  # type: ignore[arg-type]
    hint = words.optional(f"field.{name}.placeholder")
    least, most = (_LINES, _MOST_LINES) if name in LINES else (1, 1)
    return gr.Textbox(
        str(value),
        placeholder=hint,
        lines=least,
        max_lines=most,
        html_attributes=_NAME,
        **options,
    )


def _classes(tab: str, name: str) -> list[str]:
    """Return the classes of a field: those by which the stylesheet hides it where the purpose does
    not need it."""
    purpose = purpose_of(name) if any(name in row for row in FORMS[tab].more) else ""
    classes = ("gs-radio" if name in CHIPS else "", f"gs-of-{purpose}" if purpose else "")
    return [*filter(None, classes)]


def _choice(name: str, choice: str, words: Words) -> str:
    said = words.optional(f"field.{name}.{choice or 'all'}")
    return said or (_CHOICES[name](choice, words) if name in _CHOICES else choice)
