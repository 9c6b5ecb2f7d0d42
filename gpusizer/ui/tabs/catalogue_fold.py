"""The fold with the GPU catalogue, below the comparison; it is filled when it is first opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters import catalogue
from gpusizer.ui.tabs.tab_fields import Listeners, grid, html, part_fold


def build(questions: Questions, listeners: Listeners) -> Mapping[str, Any]:
    """Build the fold; return it, its heading, whose event `input` picks a GPU, and its table, by
    name.

    The field above the table asks `Sizer.gpus`, so that the page finds what the shell finds;
    the search of Gradio's own table would look for letters inside of words.
    """
    words = questions.words
    fold = part_fold("catalogue", words)
    with fold:
        heading = html("", "gs-catalogue-block", scripts.wishing("compare", "compare"))
        label = words("catalogue.filter")
        query = gr.Textbox(label=label, max_lines=1, elem_id="gs-catalogue-filter")
        name = words("tab.catalogue")
        table = grid(catalogue.COLUMNS, words, "gs-catalogue-grid", name, search=False)
    parts = {"catalogue.heading": heading, "catalogue.table": table}

    def search(text: str) -> dict[Any, Any]:
        return {parts[name]: value for name, value in questions.catalogue(text).items()}

    events = [fold.expand, query.change]
    gr.on(events, search, [query], [*parts.values()], **listeners("catalogue"))
    return {"catalogue.fold": fold, **parts}
