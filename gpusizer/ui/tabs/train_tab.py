"""The tab "Fine-tune": memory, savings, GPUs, hours and dollars for a model and a method."""

from __future__ import annotations

import gradio as gr

from gpusizer.answers.conclusion.train import method_name
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters.examples import tab_html
from gpusizer.ui.tab_examples import TRAININGS
from gpusizer.ui.tabs.machine_fold import machine_fold
from gpusizer.ui.tabs.tab_fields import (
    Listeners,
    go_button,
    html,
    model_field,
    number_field,
    query_box,
)
from gpusizer.ui.tabs.tab_form import TabForm

_METHODS = ("lora", "qlora", "full", "dora")


def build(questions: Questions, tab: gr.Tab, listeners: Listeners) -> TabForm:
    """Build the tab."""
    words = questions.words
    with gr.Row(elem_id="gs-train-form", equal_height=True):
        model = model_field(words, "gs-train-model")
        go = go_button(words, "gs-train-go", label="train.go")
    with gr.Row():
        method = gr.Dropdown(
            [(method_name(name), name) for name in _METHODS],
            value=_METHODS[0],
            label=words("train.method"),
        )
        sequence = number_field(words("train.sequence"), usual=2048)
        batch = number_field(words("train.batch"), usual=1)
        gpu = gr.Textbox(
            label=words("train.gpu"), placeholder=words("cards.placeholder"), max_lines=1
        )
    machine = machine_fold("train", words)
    status = html("", "gs-train-status")
    examples = tab_html("train", TRAININGS, words)
    answer = html(examples, "gs-train-answer")
    shown = {"status": status, "answer": answer, "query": query_box("gs-train-query")}
    start = {"status": "", "answer": examples, "query": ""}
    fields = {
        "model": model,
        "method": method,
        "sequence_length": sequence,
        "micro_batch": batch,
        "gpu": gpu,
    }
    form = TabForm("train", fields, machine, shown, start, query_box("gs-train-again"))
    form.answer_by(questions.train, go, tab, [], listeners)
    return form
