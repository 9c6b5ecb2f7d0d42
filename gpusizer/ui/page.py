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
    with gr.Tabs(selected="size", elem_id="gs-tabs") as shown:
        with _tab("size", words):
            sized = size.build(handlers, examples, listeners)
        with _tab("compare", words):
            compared = compare.build(handlers, listeners)
        with _tab("train", words):
            trained = train.build(questions, listeners)
        with _tab("reverse", words):
            reversed_ = reverse.build(questions, listeners)
        with _tab("catalogue", words) as tab:
            table = catalogue.build(tab, questions, listeners)
        with _tab("know", words) as tab:
            errors = know.build(tab, questions, listeners)
        with _tab("log", words):
            log.build(questions, listeners)
    shown.change(None, None, None, js=scripts.ON_TAB, **listeners.quiet("tab"))
    filled = [shown, *sized, *compared, *trained, *reversed_, table, errors]
    loaded = blocks.load(handlers.load, None, filled, **listeners("load"))
    told = loaded.then(None, None, None, js=scripts.LOADED, **listeners.quiet("loaded"))
    told.then(handlers.gpu_names, None, names, **listeners("names"))


def _tab(name: str, words: Words) -> gr.Tab:
    return gr.Tab(words(f"tab.{name}"), id=name, elem_id=f"{scripts.TAB_ID}{name}")


def build_endpoints_page() -> None:
    """Examples of calls, over Gradio's own description of the endpoints, in English alone."""
    words = Words(LANGUAGES[0])
    Navbar(visible=False)
    html(frame.header_html(words), "gs-top")
    html(frame.api_html(words, opened=True), "gs-endpoints", scripts.copy_script(frame.ORIGIN))
