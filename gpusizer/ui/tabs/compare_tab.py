"""The tab that compares GPUs side by side, with a model or without, above all GPUs there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.tabs import catalogue_fold
from gpusizer.ui.tabs.machine_fold import machine_fold
from gpusizer.ui.tabs.tab_fields import Listeners, go_button, html, model_field, query_box
from gpusizer.ui.tabs.tab_form import TabForm


def build(
    handlers: Handlers, tab: gr.Tab, listeners: Listeners
) -> tuple[TabForm, Mapping[str, Any]]:
    """Build the tab; return its form, and the components of the catalogue by name."""
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
    listed = catalogue_fold.build(handlers.questions, listeners)
    picking = [cards, listed["catalogue.heading"]]
    form.answer_by(handlers.compare_for, go, tab, picking, listeners)
    return form, listed
