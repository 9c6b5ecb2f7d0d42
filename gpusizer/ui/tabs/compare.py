"""Compare GPUs: cards side by side, with a model or without."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.ui import scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.tabs.kit import Listeners, go_button, html, model_field, query_box


def build(handlers: Handlers, listeners: Listeners) -> list[Any]:
    """Build the tab; the model's field, the cards and the state, which an address fills."""
    words = handlers.words
    with gr.Row(elem_id="gs-compare-form", equal_height=True):
        model = model_field(words, "gs-compare-model", label="compare.model")
        go = go_button(words, "gs-compare-go", label="compare.go")
    cards = html(handlers.no_cards, "gs-compare-cards", scripts.CARDS)
    query = query_box("gs-compare-query")
    outputs = [cards, query]
    gr.on(
        [model.submit, go.click], handlers.compare_for, [model, query], outputs,
        **listeners("compare"),
    )  # fmt: skip
    cards.pick(handlers.pick_alone, [query], outputs, **listeners("compare_add"))
    cards.drop(handlers.drop_alone, [query], outputs, **listeners("compare_drop"))
    remember = scripts.remember("compare")
    query.change(None, [query], None, js=remember, **listeners.quiet("compare_remember"))
    return [model, cards, query]
