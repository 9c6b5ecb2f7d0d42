"""Tab "How we know": a pasted log against predictions, methods, limits, the API, and errors."""

from __future__ import annotations

import re

import gradio as gr

from gpusizer.core.paths import DOCS_DIR
from gpusizer.ui.page import page_scripts as scripts
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.page.tabs.tab_fields import Listeners, go_button, html, part_fold
from gpusizer.ui.presenters.pieces import frame

_HEADING = re.compile(r"^(?=#)", re.M)
_RELATIVE_LINK = re.compile(r"\[([^\]]*)\]\((?!https://)[^)]*\)")


def build(questions: Questions, tab: gr.Tab, listeners: Listeners) -> gr.Accordion:
    """Build the tab; return the fold for a log."""
    words = questions.words
    fold = _log_fold(questions, listeners)
    texts = frame.method_html(words) + frame.api_html(words)
    html(texts, "gs-method-block", scripts.COPY)
    # A fifth of the whole page, which few visitors open.
    accuracy = gr.Markdown("", elem_id="gs-accuracy")
    tab.select(accuracy_markdown, None, accuracy, **listeners("accuracy"))
    return fold


def accuracy_markdown() -> str:
    """Return the document of errors, which is in English, below the page's own heading.

    Links to other files of the repository, which the page lacks, become plain text.
    """
    text = (DOCS_DIR / "accuracy.md").read_text("utf-8")
    shown = _RELATIVE_LINK.sub(r"\1", _HEADING.sub("#", text))
    return f'<div lang="en">\n\n{shown}\n</div>'


def _log_fold(questions: Questions, listeners: Listeners) -> gr.Accordion:
    # Its fields are never written into the address: a log may be private.
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
