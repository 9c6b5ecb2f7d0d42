"""The tab with the GPU catalogue, which is filled when the tab is first opened."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters import catalogue
from gpusizer.ui.tabs.tab_fields import Listeners, grid, html


def build(tab: gr.Tab, questions: Questions, listeners: Listeners) -> dict[str, Any]:
    """Build the tab; return its heading and its table by name.

    The field above the table asks `Sizer.gpus`, so that the page finds what the shell finds;
    the search of Gradio's own table would look for letters inside of words.
    """
    words = questions.words
    heading = html("", "gs-catalogue-block", scripts.COMPARE)
    query = gr.Textbox(label=words("catalogue.filter"), max_lines=1, elem_id="gs-catalogue-filter")
    table = grid(
        catalogue.COLUMNS, words, "gs-catalogue-grid", words("tab.catalogue"), search=False
    )
    parts = {"catalogue.heading": heading, "catalogue.table": table}

    def search(text: str) -> dict[Any, Any]:
        return {parts[name]: value for name, value in questions.catalogue(text).items()}

    gr.on([tab.select, query.change], search, [query], [*parts.values()], **listeners("catalogue"))
    return parts
