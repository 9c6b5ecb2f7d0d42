"""Tab that compares GPUs side by side, with or without a model, above the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

import gradio as gr

from gpusizer.ui.page import page_scripts as scripts
from gpusizer.ui.page.asked import Shown
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, grid, html, part_fold, query_box
from gpusizer.ui.page.tabs.tab_form import TabForm, build_form
from gpusizer.ui.presenters import catalogue


def build(
    handlers: Handlers, tab: gr.Tab, listeners: Listeners
) -> tuple[TabForm, Mapping[str, Part]]:
    """Build the tab; return its form, and the components of the catalogue by name."""
    words = handlers.words
    form = build_form("compare", words)
    status = html("", "gs-compare-status")
    cards = html(handlers.no_cards, "gs-compare-cards", scripts.wishing("compare", *scripts.CARDS))
    shown = {"status": status, "cards": cards}
    query = query_box("gs-compare-query")
    start: Shown = {"status": "", "cards": handlers.no_cards, "query": ""}
    heading, listed = _catalogue_fold(handlers.questions, listeners)
    form.answer_by(handlers.compare_for, tab, shown, query, start, [cards, heading], listeners)
    return form, listed


def _catalogue_fold(
    questions: Questions, listeners: Listeners
) -> tuple[gr.HTML, Mapping[str, Part]]:
    # The heading's event `input` picks a GPU. The field above the table asks `Sizer.gpus`, so that
    # page and shell find equal GPUs; the search of Gradio's own table would look for letters inside
    # of words.
    words = questions.words
    fold = part_fold("catalogue", words)
    with fold:
        heading = html("", "gs-catalogue-block", scripts.wishing("compare", "compare"))
        label = words("catalogue.filter")
        query = gr.Textbox(label=label, max_lines=1, elem_id="gs-catalogue-filter")
        name = words("tab.catalogue")
        table = grid(catalogue.COLUMNS, words, "gs-catalogue-grid", name, search=False)
    parts: dict[str, Part] = {"catalogue.heading": heading, "catalogue.table": table}

    def search(text: str) -> dict[Part, object]:
        return {parts[name]: value for name, value in questions.catalogue(text).items()}

    events = [fold.expand, query.change]
    gr.on(events, search, [query], [*parts.values()], **listeners("catalogue"))
    return heading, {"catalogue.fold": fold, **parts}
