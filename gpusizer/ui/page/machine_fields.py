"""Form fields about machines: those of the visitor's own, and GPUs typed to compare."""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr

from gpusizer.fit.machine_parser import split_machines
from gpusizer.ui.page.asked import FormCall, PageEvent, Shown
from gpusizer.ui.page.forms import FORMS
from gpusizer.ui.page.page_state import PageState

_MAX_CHARS = 300


def own_fields(state: PageState) -> Shown:
    """Return fields about the visitor's machine in each tab, and its fold, open if one is set."""
    shown: Shown = {}
    for tab, form in FORMS.items():
        if not state.stated.keys().isdisjoint(form.machine):
            shown[f"{tab}.machine"] = gr.update(open=True)
        values = form.values(state.stated, form.own)
        shown |= {f"{tab}.{name}": value for name, value in values.items()}
    return shown


def typed_gpus(asked: FormCall, before: PageState) -> Iterator[PageEvent]:
    """Yield picks and drops for the changes in the field of GPUs to compare."""
    text = asked.fields.get("gpus")
    if text is None:  # a field that has not been shown yet
        return
    typed, known = split_machines([str(text)[:_MAX_CHARS]]), before.gpus or ()
    yield from (PageEvent("drop", gpu) for gpu in known if gpu not in typed)
    yield from (PageEvent("pick", gpu) for gpu in typed if gpu not in known)
