"""The tab that compares GPUs side by side, with a model or without, above all GPUs there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.tabs import catalogue_fold
from gpusizer.ui.tabs.tab_fields import Listeners, html, query_box
from gpusizer.ui.tabs.tab_form import TabForm, build_form


def build(
    handlers: Handlers, tab: gr.Tab, listeners: Listeners
) -> tuple[TabForm, Mapping[str, Any]]:
    """Build the tab; return its form, and the components of the catalogue by name."""
    words = handlers.words
    form = build_form("compare", words)
    status = html("", "gs-compare-status")
    cards = html(handlers.no_cards, "gs-compare-cards", scripts.wishing("compare", *scripts.CARDS))
    shown = {"status": status, "cards": cards, "query": query_box("gs-compare-query")}
    start = {"status": "", "cards": handlers.no_cards, "query": ""}
    listed = catalogue_fold.build(handlers.questions, listeners)
    wishing = [cards, listed["catalogue.heading"]]
    form.answer_by(handlers.compare_for, tab, shown, start, wishing, listeners)
    return form, listed
