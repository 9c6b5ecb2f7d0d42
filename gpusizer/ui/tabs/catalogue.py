"""The GPU catalogue, drawn when its tab is first opened."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui import scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.tabs.kit import Listeners, html


def build(tab: gr.Tab, handlers: Handlers, listeners: Listeners) -> gr.HTML:
    """Build the tab; the table's component."""
    table = html("", "gs-catalogue-block", scripts.FILTER)
    tab.select(handlers.catalogue, None, table, **listeners("catalogue"))
    return table
