"""The tab "How we know": errors against measurements, a pasted log against the predictions,
methods, their limits, how old the data is, and the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from gpusizer.answers.data_ages import data_ages
from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters import frame
from gpusizer.ui.presenters.data_ages import data_ages_html
from gpusizer.ui.presenters.html import join
from gpusizer.ui.tabs import log_fold
from gpusizer.ui.tabs.tab_fields import Listeners, html


def build(tab: gr.Tab, questions: Questions, listeners: Listeners) -> Mapping[str, Any]:
    """Build the tab; return the component for the errors, which is filled when the tab opens, and
    the fold for a log, by name."""
    words = questions.words
    errors = html("", "gs-accuracy-block")
    tab.select(questions.accuracy, None, errors, **listeners("accuracy"))
    fold = log_fold.build(questions, listeners)
    texts = (frame.method_html(words), data_ages_html(data_ages(), words), frame.api_html(words))
    html(join(texts), "gs-method-block", scripts.COPY)
    return {"know.errors": errors, "log.fold": fold}
