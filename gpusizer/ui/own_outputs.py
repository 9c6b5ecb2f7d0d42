"""Values that fill the fields about the visitor's own machine in every tab that has them."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui.attempts import Outputs
from gpusizer.ui.own_fields import OWN_FIELDS_OF
from gpusizer.ui.page_state import PageState, decimal


def own_outputs(state: PageState) -> Outputs:
    """Return for each tab of OWN_FIELDS_OF its fold, open where a field is set, and its fields."""
    outputs: list[object] = []
    for names in OWN_FIELDS_OF.values():
        values = [decimal(getattr(state, name)) for name in names]
        is_set = any(value is not None for value in values)
        outputs += [gr.update(open=True) if is_set else gr.skip(), *values]
    return tuple(outputs)
