"""What can my GPU run: a card or a machine in, models out."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.models_for.tasks import TASKS
from gpusizer.ui import scripts
from gpusizer.ui.questions import Questions
from gpusizer.ui.tabs.kit import Listeners, context_field, go_button, html, query_box


def build(questions: Questions, listeners: Listeners) -> list[Any]:
    """Build the tab; its fields, the answer and the state, which an address fills."""
    words = questions.words
    with gr.Row(elem_id="gs-reverse-form", equal_height=True):
        gpu = gr.Textbox(
            label=words("reverse.gpu.label"),
            placeholder=words("reverse.gpu.placeholder"),
            max_lines=1,
            scale=2,
            elem_id="gs-reverse-gpu",
        )
        task = gr.Dropdown(
            [(words("reverse.task.all"), ""), *((words(f"task.{name}"), name) for name in TASKS)],
            value="",
            label=words("reverse.task.label"),
            scale=1,
        )
        context = context_field(words)
        go = go_button(words, "gs-reverse-go", label="reverse.go")
    answer = html("", "gs-reverse-answer")
    query = query_box("gs-reverse-query")
    gr.on(
        [gpu.submit, go.click, task.input, context.submit],
        questions.models_for,
        [gpu, task, context],
        [answer, query],
        **listeners("reverse"),
    )
    remember = scripts.remember("reverse")
    query.change(None, [query], None, js=remember, **listeners.quiet("reverse_remember"))
    return [gpu, task, context, answer, query]
