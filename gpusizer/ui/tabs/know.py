"""How we know: errors against measurements, methods, what cannot be known, and the API."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui import scripts
from gpusizer.ui.presenters import frame
from gpusizer.ui.questions import Questions
from gpusizer.ui.tabs.kit import Listeners, html


def build(tab: gr.Tab, questions: Questions, listeners: Listeners) -> gr.HTML:
    """Build the tab; the component of the errors, which are drawn when it is first opened."""
    words = questions.words
    errors = html("", "gs-accuracy-block")
    tab.select(questions.accuracy, None, errors, **listeners("accuracy"))
    html(frame.method_html(words), "gs-method-block")
    html(frame.api_html(words), "gs-api-block", scripts.copy_script(frame.ORIGIN))
    return errors
