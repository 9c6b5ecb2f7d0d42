"""The tab "Fine-tune": memory, savings, GPUs, hours and dollars for a model and a method."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters.examples import tab_html
from gpusizer.ui.tab_examples import TRAININGS
from gpusizer.ui.tabs.tab_fields import Listeners, html, query_box
from gpusizer.ui.tabs.tab_form import TabForm, build_form


def build(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab."""
    words = questions.words
    form = build_form("train", words)
    examples = tab_html("train", TRAININGS, words)
    start = {"status": "", "answer": examples, "query": ""}
    shown = {
        "status": html("", "gs-train-status"),
        "answer": html(examples, "gs-train-answer"),
        "query": query_box("gs-train-query"),
    }
    form.answer_by(questions.train, tab, shown, start, [], listeners)
    return form
