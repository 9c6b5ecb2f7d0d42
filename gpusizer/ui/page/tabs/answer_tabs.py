"""Tabs whose answer is one part: models for a machine, and fine-tuning."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui.page import page_scripts as scripts
from gpusizer.ui.page.asked import Shown
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.page.plots import figure_shown
from gpusizer.ui.page.tabs.pictures_section import figure
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, grid, html, query_box
from gpusizer.ui.page.tabs.tab_form import TabForm, build_form
from gpusizer.ui.presenters import models_for
from gpusizer.ui.presenters.examples import tab_html
from gpusizer.ui.presenters.tab_examples import MACHINES, TRAININGS


def build_reverse(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab "What can my GPU run", which lists models for a card or a machine."""
    words = questions.words
    form = build_form("reverse", words)
    status = html("", "gs-reverse-status")
    search = scripts.search_label("gs-reverse-grid", words("search"))
    examples = tab_html("reverse", MACHINES, words)
    shown: dict[str, Part] = {
        "status": status,
        "answer": html(examples, "gs-reverse-answer", search),
        "models": grid(models_for.columns(""), words, "gs-reverse-grid", words("tab.reverse")),
        "copies": html("", "gs-reverse-copies", scripts.script_text("copies")),
    }
    summary = words("pictures.summary")
    with gr.Accordion(summary, open=False, visible=False, elem_id="gs-reverse-picture") as folded:
        shown |= {"picture": folded}
        shown |= {f"quality.{part}": built for part, built in figure("quality").items()}
    texts = dict.fromkeys(("status", "copies", "query"), "")
    hidden = dict.fromkeys(("models", "picture"), gr.update(visible=False))
    start: Shown = {**texts, **hidden, **figure_shown("quality", None), "answer": examples}
    query = query_box("gs-reverse-query")
    form.answer_by(questions.models_for, tab, shown, query, start, [], listeners)
    return form


def build_train(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab "Fine-tune": memory, savings, GPUs, hours and dollars for a model."""
    words = questions.words
    form = build_form("train", words)
    examples = tab_html("train", TRAININGS, words)
    start: Shown = {"status": "", "answer": examples, "query": ""}
    shown = {
        "status": html("", "gs-train-status"),
        "answer": html(examples, "gs-train-answer"),
    }
    query = query_box("gs-train-query")
    form.answer_by(questions.train, tab, shown, query, start, [], listeners)
    return form
