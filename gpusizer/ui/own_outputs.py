"""Values that fill the fields about the visitor's own machine in every tab that has them."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui.asked import Shown
from gpusizer.ui.own_fields import OWN_FIELDS_OF
from gpusizer.ui.page_state import PageState, decimal


def own_outputs(state: PageState) -> Shown:
    """Return for each tab of OWN_FIELDS_OF its fold, open where a field is set, and its fields, by
    the tab's name and their own."""
    shown: Shown = {}
    for tab, names in OWN_FIELDS_OF.items():
        values = {name: decimal(getattr(state, name)) for name in names}
        if any(value != "" for value in values.values()):
            shown[f"{tab}.machine"] = gr.update(open=True)
        shown |= {f"{tab}.{name}": value for name, value in values.items()}
    return shown
