"""The GPU catalogue, drawn when its tab is first opened."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui import scripts
from gpusizer.ui.questions import Questions
from gpusizer.ui.tabs.kit import Listeners, html


def build(tab: gr.Tab, questions: Questions, listeners: Listeners) -> gr.HTML:
    """Build the tab; the table's component."""
    table = html("", "gs-catalogue-block", scripts.FILTER)
    tab.select(questions.catalogue, None, table, **listeners("catalogue"))
    return table
