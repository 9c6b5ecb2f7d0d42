"""The tab that compares GPUs as cards side by side, with a model or without."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.tabs.machine_fold import machine_fold
from gpusizer.ui.tabs.tab_fields import Listeners, go_button, html, model_field, query_box
from gpusizer.ui.tabs.tab_form import TabForm


def build(handlers: Handlers, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab."""
    words = handlers.words
    with gr.Row(elem_id="gs-compare-form", equal_height=True):
        model = model_field(words, "gs-compare-model", label="compare.model")
        go = go_button(words, "gs-compare-go", label="compare.go")
    machine = machine_fold("compare", words)
    status = html("", "gs-compare-status")
    cards = html(handlers.no_cards, "gs-compare-cards", scripts.cards("compare"))
    shown = {"status": status, "cards": cards, "query": query_box("gs-compare-query")}
    start = {"status": "", "cards": handlers.no_cards, "query": ""}
    again = query_box("gs-compare-again")
    form = TabForm("compare", {"model": model}, machine, shown, start, again)
    form.answer_by(handlers.compare_for, go, tab, [cards], listeners)
    return form
