"""The tab "What can my GPU run", which lists models for a card or a machine."""

from __future__ import annotations

import gradio as gr
from gradio.components import Component

from gpusizer.answers.models_for.licenses import LICENSES
from gpusizer.model.tasks import TASKS
from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters import models_for
from gpusizer.ui.presenters.examples import tab_html
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tab_examples import MACHINES
from gpusizer.ui.tabs.machine_fold import machine_fold
from gpusizer.ui.tabs.tab_fields import Listeners, context_field, go_button, grid, html, query_box
from gpusizer.ui.tabs.tab_form import TabForm


def build(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab."""
    words = questions.words
    with gr.Row(elem_id="gs-reverse-form", equal_height=True):
        gpu = gr.Textbox(
            label=words("reverse.gpu.label"),
            placeholder=words("reverse.gpu.placeholder"),
            max_lines=1,
            scale=2,
            elem_id="gs-reverse-gpu",
        )
        context = context_field(words)
        go = go_button(words, "gs-reverse-go", label="reverse.go")
    filters = _filters(words)
    machine = machine_fold("reverse", words)
    status = html("", "gs-reverse-status")
    search = scripts.search_label("gs-reverse-grid", words("search"))
    examples = tab_html("reverse", MACHINES, words)
    shown = {
        "status": status,
        "answer": html(examples, "gs-reverse-answer", search),
        "models": grid(models_for.columns(""), words, "gs-reverse-grid", words("tab.reverse")),
        "copies": html("", "gs-reverse-copies", scripts.COPIES),
        "query": query_box("gs-reverse-query"),
    }
    texts = dict.fromkeys(("status", "copies", "query"), "")
    start = {**texts, "answer": examples, "models": gr.update(visible=False)}
    fields = {"gpu": gpu, "context": context, **filters}
    form = TabForm("reverse", fields, machine, shown, start, query_box("gs-reverse-again"))
    form.answer_by(questions.models_for, go, tab, [], listeners)
    return form


def _filters(words: Words) -> dict[str, Component]:
    """Build the fields that leave models out, by the names of a request."""
    with gr.Row(elem_id="gs-reverse-filters"):
        task = gr.Dropdown(
            [(words("reverse.task.all"), ""), *((words(f"task.{name}"), name) for name in TASKS)],
            value="",
            label=words("reverse.task.label"),
            scale=1,
        )
        license_name = gr.Dropdown(
            [
                (words("reverse.license.all"), ""),
                *((name, name) for name in LICENSES),
                (words("reverse.license.unknown"), "unknown"),
            ],
            value="",
            label=words("reverse.license.label"),
            allow_custom_value=True,
            scale=1,
            elem_id="gs-reverse-license",
        )
        live = gr.Checkbox(
            value=False,
            label=words("reverse.live.label"),
            info=words("reverse.live.info"),
            scale=1,
            elem_id="gs-reverse-live",
        )
    return {"model_task": task, "license": license_name, "live": live}
