"""The tab that compares GPUs as cards side by side, with a model or without."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.own_cards_script import OWN_CARDS
from gpusizer.ui.tabs.machine_fold import MachineFold, machine_fold
from gpusizer.ui.tabs.tab_fields import Listeners, go_button, html, model_field, query_box


def build(handlers: Handlers, listeners: Listeners) -> tuple[list[Any], MachineFold]:
    """Build the tab; return the components that an address fills (model, status, cards and query),
    and the fold with the visitor's own machine."""
    words = handlers.words
    with gr.Row(elem_id="gs-compare-form", equal_height=True):
        model = model_field(words, "gs-compare-model", label="compare.model")
        go = go_button(words, "gs-compare-go", label="compare.go")
    machine = machine_fold("compare", words)
    status = html("", "gs-compare-status")
    cards = html(handlers.no_cards, "gs-compare-cards", scripts.CARDS + OWN_CARDS)
    query = query_box("gs-compare-query")
    outputs = [cards, query]
    gr.on(
        [model.submit, go.click, *machine.submits],
        handlers.compare_for,
        [query, model, *machine.inputs],
        [status, *outputs],
        **listeners("compare"),
    )
    on_machine = [query, *machine.inputs]
    cards.pick(handlers.pick, on_machine, outputs, **listeners("compare_add"))
    cards.drop(handlers.drop, on_machine, outputs, **listeners("compare_drop"))
    remember = scripts.remember("compare")
    query.change(None, [query], None, js=remember, **listeners.quiet("compare_remember"))
    return [model, status, cards, query], machine
