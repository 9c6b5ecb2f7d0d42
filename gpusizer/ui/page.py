"""One page in one language: components and wiring, no formatting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import gradio as gr
from gradio.components.navbar import Navbar

from gpusizer.accuracy import load_accuracy
from gpusizer.engines import ENGINES
from gpusizer.text import Language
from gpusizer.ui import scripts
from gpusizer.ui.endpoints import CONCURRENCY, QUEUE
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.presenters import frame
from gpusizer.ui.presenters.accuracy import accuracy_html
from gpusizer.ui.presenters.cards import gpu_names_html
from gpusizer.ui.presenters.errors import chips_html
from gpusizer.ui.presenters.words import Words
from gpusizer.workload import DEFAULT_CONTEXT


@dataclass(frozen=True, slots=True)
class _Form:
    """What the visitor fills in."""

    model: gr.Textbox
    context: gr.Number
    concurrency: gr.Number
    engine: gr.Dropdown

    @property
    def inputs(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True, slots=True)
class _Results:
    """Where answers appear, in the order of `handlers.Shown`."""

    status: gr.HTML
    answer: gr.HTML
    cards: gr.HTML
    memory: gr.HTML
    pictures: gr.HTML
    ranking: gr.HTML
    query: gr.Textbox

    @property
    def outputs(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def build_page(
    blocks: gr.Blocks, language: Language, handlers: Handlers, examples: Sequence[str]
) -> None:
    """Build the page of one language inside the current Blocks context."""
    words = handlers.words
    Navbar(visible=False)
    _html(frame.header_html(words), "gs-top")
    model, go = _question(words)
    chips = _html(chips_html(examples, words("try")), "gs-examples", scripts.TRY)
    form = _advanced(model, words)
    results = _results(frame.welcome_html(len(handlers.gpu_names), words))
    _html(gpu_names_html(handlers.gpu_names), "gs-names")
    _html(accuracy_html(load_accuracy(), words), "gs-accuracy-block")
    _html(frame.method_html(words), "gs-method-block")
    _html(frame.api_html(words), "gs-api-block", scripts.copy_script(frame.ORIGIN))
    _wire(blocks, language, handlers, form, go, chips, results)


def _html(value: str, elem_id: str, script: str = "") -> gr.HTML:
    """Ready-made markup under the default template, which never evaluates it."""
    return gr.HTML(value, elem_id=elem_id, js_on_load=script or None, apply_default_css=False)


def _question(words: Words) -> tuple[gr.Textbox, gr.Button]:
    plain = gr.InputHTMLAttributes(autocorrect="off", autocapitalize="off", spellcheck=False)
    with gr.Row(elem_id="gs-form", equal_height=True):
        model = gr.Textbox(
            label=words("model.label"),
            placeholder=words("model.placeholder"),
            max_lines=1,
            scale=1,
            autofocus=True,
            html_attributes=plain,
            elem_id="gs-model",
        )
        go = gr.Button(words("go"), variant="primary", scale=0, min_width=150, elem_id="gs-go")
    return model, go


def _advanced(model: gr.Textbox, words: Words) -> _Form:
    with gr.Accordion(words("advanced"), open=False, elem_id="gs-advanced"), gr.Row():
        context = gr.Number(
            DEFAULT_CONTEXT, label=words("context.label"), info=words("context.info"), precision=0
        )
        concurrency = gr.Number(
            1, label=words("concurrency.label"), info=words("concurrency.info"), precision=0
        )
        engine = gr.Dropdown(
            [(words("engine.usual"), ""), *((e.name, e.slug) for e in ENGINES.values())],
            value="",
            label=words("engine.label"),
            info=words("engine.info"),
        )
    return _Form(model, context, concurrency, engine)


def _results(welcome: str) -> _Results:
    return _Results(
        status=_html("", "gs-status"),
        answer=_html(welcome, "gs-answer-block", scripts.TRY),
        cards=_html("", "gs-cards-block", scripts.CARDS),
        memory=_html("", "gs-memory-block"),
        pictures=_html("", "gs-pictures-block", scripts.PICTURES),
        ranking=_html("", "gs-ranking-block", scripts.PICK),
        query=gr.Textbox(visible="hidden", elem_id="gs-query", label="query"),
    )


def _wire(
    blocks: gr.Blocks,
    language: Language,
    handlers: Handlers,
    form: _Form,
    go: gr.Button,
    chips: gr.HTML,
    results: _Results,
) -> None:
    """Every listener is private and has a name of its own, apart from the public endpoints'."""

    def options(name: str) -> dict[str, Any]:
        return {
            "api_name": f"ui_{name}_{language}",
            "api_visibility": "private",
            "show_progress": "hidden",
            "concurrency_id": QUEUE,
            "concurrency_limit": CONCURRENCY,
        }

    everything = [*form.inputs, *results.outputs]
    asked = [form.model.submit, form.context.submit, form.concurrency.submit, go.click]
    gr.on(asked, handlers.ask, [*form.inputs, results.query], everything, **options("ask"))
    inputs, outputs = [results.query], [results.cards, results.pictures, results.query]
    for name, chip in (("try", chips), ("retry", results.answer)):
        chip.choose(handlers.choose, form.inputs, everything, **options(name))
    results.cards.pick(handlers.pick, inputs, outputs, **options("add"))
    results.cards.drop(handlers.drop, inputs, outputs, **options("drop"))
    results.ranking.pick(handlers.pick, inputs, outputs, **options("pick"))
    results.ranking.rank(handlers.rank, inputs, [results.ranking, results.query], **options("rank"))
    results.query.change(
        None, inputs, None, js=scripts.REMEMBER, api_name=f"ui_remember_{language}",
        api_visibility="private",
    )  # fmt: skip
    blocks.load(handlers.load, None, everything, **options("load"))
    blocks.load(
        None, None, None,
        js=scripts.language_script(frame.LOCALES[language], handlers.words("document_title")),
        api_name=f"ui_language_{language}", api_visibility="private",
    )  # fmt: skip
