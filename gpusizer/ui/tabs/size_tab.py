"""The tab that sizes a model: form, answer, cards, memory, pictures, ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from gpusizer.memory.engines import ENGINES
from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.own_cards_script import OWN_CARDS
from gpusizer.ui.presenters import frame
from gpusizer.ui.presenters.errors import chips_html
from gpusizer.ui.presenters.tables import RANKING_COLUMNS
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tabs import pictures_section as pictures
from gpusizer.ui.tabs.machine_fold import MachineFold, machine_fold
from gpusizer.ui.tabs.planning_fields import draft_fields, serving_fields, wish_fields
from gpusizer.ui.tabs.tab_fields import (
    Listeners,
    context_field,
    go_button,
    grid,
    html,
    model_field,
    query_box,
)


@dataclass(frozen=True, slots=True)
class _Form:
    """The fields that the visitor fills in."""

    model: gr.Textbox
    context: gr.Number
    concurrency: gr.Number
    engine: gr.Dropdown
    requests_per_second: gr.Number
    prompt_tokens: gr.Number
    answer_tokens: gr.Number
    ttft_ms: gr.Number
    draft_model: gr.Textbox
    acceptance_rate: gr.Number
    min_tok_s: gr.Number
    max_usd: gr.Number

    @property
    def inputs(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True, slots=True)
class _Results:
    """The components for an answer, in the order of the handlers' outputs."""

    status: gr.HTML
    answer: gr.HTML
    cards: gr.HTML
    memory: gr.HTML
    pictures: gr.Accordion
    ranking: gr.HTML
    ranked: gr.Dataframe
    query: gr.Textbox

    @property
    def outputs(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def build(
    handlers: Handlers, examples: Sequence[str], listeners: Listeners
) -> tuple[list[Any], MachineFold]:
    """Build the tab; return the components that an address fills, in the handlers' order, and the
    fold with the visitor's own machine."""
    words = handlers.words
    with gr.Row(elem_id="gs-form", equal_height=True):
        model = model_field(words, "gs-model")
        go = go_button(words, "gs-go")
    chips = html(chips_html(examples, words("try")), "gs-examples", scripts.TRY)
    form = _advanced(model, words)
    machine = machine_fold("size", words)
    results, pictures_part = _results(
        frame.welcome_html(handlers.gpu_count, handlers.sample, words), words
    )
    _wire(handlers, form, machine, go, chips, results, listeners)
    pictures_part.follow(results.query, handlers, listeners)
    return [*form.inputs, *results.outputs], machine


def _advanced(model: gr.Textbox, words: Words) -> _Form:
    with gr.Accordion(
        words("advanced"), open=False, elem_id="gs-advanced", elem_classes=["gs-fold"]
    ):
        with gr.Row():
            context = context_field(words)
            concurrency = gr.Number(
                1, label=words("concurrency.label"), info=words("concurrency.info"), precision=0
            )
            engine = gr.Dropdown(
                [(words("engine.usual"), ""), *((e.name, e.slug) for e in ENGINES.values())],
                value="",
                label=words("engine.label"),
                info=words("engine.info"),
            )
        with gr.Row():
            serving = serving_fields(words)
        with gr.Row():
            drafting = draft_fields(words)
        with gr.Row():
            wishes = wish_fields(words)
    return _Form(model, context, concurrency, engine, *serving, *drafting, *wishes)


def _results(welcome: str, words: Words) -> tuple[_Results, pictures.PicturesPart]:
    """Build the components for an answer, in the order of the page from top to bottom."""
    search = scripts.search_label("gs-ranking-grid", words("search"))
    status = html("", "gs-status")
    answer = html(welcome, "gs-answer-block", scripts.TRY + scripts.SHARE)
    cards = html("", "gs-cards-block", scripts.CARDS + OWN_CARDS)
    memory = html("", "gs-memory-block")
    pictures_part = pictures.build(words)
    results = _Results(
        status=status,
        answer=answer,
        cards=cards,
        memory=memory,
        pictures=pictures_part.folded,
        ranking=html("", "gs-ranking-block", search + scripts.RANK),
        ranked=grid(RANKING_COLUMNS, words, "gs-ranking-grid", words("ranking.title")),
        query=query_box("gs-query"),
    )
    return results, pictures_part


def _wire(
    handlers: Handlers,
    form: _Form,
    machine: MachineFold,
    go: gr.Button,
    chips: gr.HTML,
    results: _Results,
    listeners: Listeners,
) -> None:
    components = [*form.inputs, *results.outputs]
    asked = [*form.inputs, *machine.inputs]
    triggers = [form.model.submit, form.context.submit, form.concurrency.submit, go.click]
    triggers += [form.min_tok_s.submit, form.max_usd.submit, *machine.submits]
    gr.on(triggers, handlers.ask, [results.query, *asked], components, **listeners("ask"))
    inputs, outputs = [results.query], [results.cards, results.query]
    for name, chip in (("try", chips), ("retry", results.answer)):
        chip.choose(handlers.choose, asked, components, **listeners(name))
    on_machine = [results.query, *machine.inputs]
    results.cards.pick(handlers.pick, on_machine, outputs, **listeners("add"))
    results.cards.drop(handlers.drop, on_machine, outputs, **listeners("drop"))
    results.ranking.pick(handlers.pick, on_machine, outputs, **listeners("pick"))
    ranked = [results.answer, results.ranking, results.ranked, results.query]
    results.ranking.rank(handlers.rank, inputs, ranked, **listeners("rank"))
    file = query_box("gs-download")
    results.answer.take(handlers.share, inputs, file, **listeners("share"))
    file.change(None, [file], None, js=scripts.DOWNLOAD, **listeners.quiet("download"))
    remember = scripts.remember("size")
    results.query.change(None, inputs, None, js=remember, **listeners.quiet("remember"))
