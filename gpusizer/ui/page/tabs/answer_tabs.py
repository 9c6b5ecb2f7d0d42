"""Tabs whose answer is one part: models for a machine, fine-tuning, several models."""

from __future__ import annotations

import gradio as gr
from markupsafe import Markup

from gpusizer.ui.page.asked import Shown
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.page.page_scripts import script_text, search_label
from gpusizer.ui.page.plots import figure_shown
from gpusizer.ui.page.tabs.pictures_section import figure
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, grid, html, query_box
from gpusizer.ui.page.tabs.tab_form import Handler, TabForm, build_form
from gpusizer.ui.presenters import models_for
from gpusizer.ui.presenters.examples import tab_html
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tab_examples import DESKS, MACHINES, TRAININGS


def build_reverse(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab "What can my GPU run", which lists models for a card or a machine."""
    words = questions.words
    form = build_form("reverse", words)
    status = html("", "gs-reverse-status")
    search = search_label("gs-reverse-grid", words("search"))
    examples = tab_html("reverse", MACHINES, words)
    shown: dict[str, Part] = {
        "status": status,
        "answer": html(examples, "gs-reverse-answer", search),
        "models": grid(models_for.columns(""), words, "gs-reverse-grid", words("tab.reverse")),
        "copies": html("", "gs-reverse-copies", script_text("copies")),
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
    examples = tab_html("train", TRAININGS, questions.words)
    return _build("train", questions.train, examples, "", questions.words, tab, listeners)


def build_desk(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab "Several models": who lives where on one machine, and the files for it."""
    examples, copying = tab_html("desk", DESKS, questions.words), script_text("tell", "copy_code")
    return _build("desk", questions.desk, examples, copying, questions.words, tab, listeners)


def _build(
    name: str,
    handler: Handler,
    examples: Markup,
    script: str,
    words: Words,
    tab: gr.Tab,
    listeners: Listeners,
) -> TabForm:
    """Build a tab whose answer is one piece of markup, in which `script` runs."""
    form = build_form(name, words, lambda: _lead(name, words))
    start: Shown = {"status": "", "answer": examples, "query": ""}
    shown = {
        "status": html("", f"gs-{name}-status"),
        "answer": html(examples, f"gs-{name}-answer", script),
    }
    query = query_box(f"gs-{name}-query")
    form.answer_by(handler, tab, shown, query, start, [], listeners)
    return form


def _lead(name: str, words: Words) -> None:
    """Build what is said below the first fields, if anything is."""
    if said := words.optional(f"{name}.lines"):
        html(piece("small_print", said), f"gs-{name}-lines")
