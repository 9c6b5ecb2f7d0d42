"""The tab "Fine-tune": memory, savings, GPUs, hours and dollars for a model and a method."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.presenters.examples import tab_html
from gpusizer.ui.presenters.training import method_name
from gpusizer.ui.tab_examples import TRAININGS
from gpusizer.ui.tabs.machine_fold import MachineFold, machine_fold
from gpusizer.ui.tabs.tab_fields import Listeners, go_button, html, model_field, query_box

_METHODS = ("lora", "qlora", "full", "dora")


def build(questions: Questions, listeners: Listeners) -> tuple[list[Any], MachineFold]:
    """Build the tab; return the components that an address fills (fields, status, answer, query),
    and the fold with the visitor's own machine."""
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
        sequence = gr.Number(2048, label=words("train.sequence"), precision=0)
        batch = gr.Number(1, label=words("train.batch"), precision=0)
        gpu = gr.Textbox(
            label=words("train.gpu"), placeholder=words("cards.placeholder"), max_lines=1
        )
    machine = machine_fold("train", words)
    status = html("", "gs-train-status")
    answer = html(tab_html("train", TRAININGS, words), "gs-train-answer")
    query = query_box("gs-train-query")
    fields = [model, method, sequence, batch, gpu]
    triggers = [model.submit, go.click, method.input, sequence.submit, batch.submit, gpu.submit]
    triggers += machine.submits
    inputs, outputs = [*fields, *machine.inputs], [status, answer, query]
    gr.on(triggers, questions.train, inputs, outputs, **listeners("train"))
    remember = scripts.remember("train")
    query.change(None, [query], None, js=remember, **listeners.quiet("train_remember"))
    return [*fields, status, answer, query], machine
