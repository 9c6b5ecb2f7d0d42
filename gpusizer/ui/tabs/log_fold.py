"""The fold that compares a pasted log with the predictions."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.tabs.tab_fields import Listeners, go_button, html, part_fold


def build(questions: Questions, listeners: Listeners) -> gr.Accordion:
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
