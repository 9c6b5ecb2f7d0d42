"""The tab "How we know": errors against measurements, a pasted log against the predictions,
methods, their limits, and the API."""

from __future__ import annotations

from collections.abc import Mapping

import gradio as gr

from gpusizer.ui.page import page_scripts as scripts
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, go_button, html, part_fold
from gpusizer.ui.presenters.pieces import frame
from gpusizer.ui.presenters.pieces.html import join


def build(tab: gr.Tab, questions: Questions, listeners: Listeners) -> Mapping[str, Part]:
    """Build the tab; return the component for the errors, which is filled when the tab opens, and
    the fold for a log, by name."""
    words = questions.words
    errors = html("", "gs-accuracy-block")
    tab.select(questions.accuracy, None, errors, **listeners("accuracy"))
    fold = _log_fold(questions, listeners)
    texts = join((frame.method_html(words), frame.api_html(words)))
    html(texts, "gs-method-block", scripts.COPY)
    return {"know.errors": errors, "log.fold": fold}


def _log_fold(questions: Questions, listeners: Listeners) -> gr.Accordion:
    """Build the fold. Its fields are never written into the address: a log may be private."""
    words = questions.words
    fold = part_fold("log", words)
    with fold:
        text = gr.Textbox(label=words("log.label"), info=words("log.lead"), lines=8, max_lines=20)
        with gr.Row(equal_height=True):
            model = gr.Textbox(label=words("log.model"), max_lines=1)
            gpu = gr.Textbox(label=words("log.gpu"), max_lines=1)
            go = go_button("log", words)
        answer = html("", "gs-log-answer", scripts.COPY)
    go.click(questions.check_log, [text, model, gpu], answer, **listeners("log"))
    return fold
