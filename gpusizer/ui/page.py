"""One page in one language: the frame, its tabs, and what its address asks for."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr
from gradio.components.navbar import Navbar

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui import scripts
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.presenters import frame
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tabs import catalogue, compare, know, log, reverse, size, train
from gpusizer.ui.tabs.kit import Listeners, html


def build_page(
    blocks: gr.Blocks,
    language: Language,
    handlers: Handlers,
    examples: Sequence[str],
    *,
    sign_in: bool = False,
) -> None:
    """Build the page of one language inside the current Blocks context."""
    words, listeners = handlers.words, Listeners(language)
    questions = handlers.questions
    Navbar(visible=False)
    named = scripts.language_script(frame.LOCALES[language], words("document_title"))
    html(frame.header_html(words), "gs-top", named)
    names = html("", "gs-names")
    if sign_in:
        gr.LoginButton(words("sign_in"), elem_id="gs-sign-in", size="sm", scale=0)
    tabs: dict[str, gr.Tab] = {}
    with gr.Tabs(selected="size", elem_id="gs-tabs") as shown:
        with gr.Tab(words("tab.size"), id="size") as tabs["size"]:
            sized = size.build(handlers, examples, listeners)
        with gr.Tab(words("tab.compare"), id="compare") as tabs["compare"]:
            compared = compare.build(handlers, listeners)
        with gr.Tab(words("tab.train"), id="train") as tabs["train"]:
            trained = train.build(questions, listeners)
        with gr.Tab(words("tab.reverse"), id="reverse") as tabs["reverse"]:
            reversed_ = reverse.build(questions, listeners)
        with gr.Tab(words("tab.catalogue"), id="catalogue") as tabs["catalogue"]:
            table = catalogue.build(tabs["catalogue"], questions, listeners)
        with gr.Tab(words("tab.know"), id="know") as tabs["know"]:
            errors = know.build(tabs["know"], questions, listeners)
        with gr.Tab(words("tab.log"), id="log") as tabs["log"]:
            log.build(questions, listeners)
    for name, tab in tabs.items():
        tab.select(None, None, None, js=scripts.on_tab(name), **listeners.quiet(f"tab_{name}"))
    filled = [shown, *sized, *compared, *trained, *reversed_, table, errors]
    loaded = blocks.load(handlers.load, None, filled, **listeners("load"))
    told = loaded.then(None, None, None, js=scripts.LOADED, **listeners.quiet("loaded"))
    told.then(handlers.gpu_names, None, names, **listeners("names"))


def build_endpoints_page() -> None:
    """Examples of calls, over Gradio's own description of the endpoints, in English alone."""
    words = Words(LANGUAGES[0])
    Navbar(visible=False)
    html(frame.header_html(words), "gs-top")
    html(frame.api_html(words, open=True), "gs-endpoints", scripts.copy_script(frame.ORIGIN))
