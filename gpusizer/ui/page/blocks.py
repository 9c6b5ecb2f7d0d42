"""The page in one language: its frame, its tabs, and the listeners that answer its address."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr
from gradio.components.navbar import Navbar

from gpusizer.text import LANGUAGES
from gpusizer.ui.page import page_scripts as scripts
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.tabs import answer_tabs, compare_tab, know_tab, size_tab
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, html, query_box
from gpusizer.ui.page.tabs.tab_form import keep_same
from gpusizer.ui.presenters.pieces import frame
from gpusizer.ui.presenters.pieces.addresses import PAGE_PATHS
from gpusizer.ui.presenters.pieces.glossary import glossary_html
from gpusizer.ui.presenters.pieces.words import Words


def build_page(
    blocks: gr.Blocks,
    handlers: Handlers,
    examples: Sequence[str],
    sign_in: gr.LoginButton | None = None,
) -> None:
    """Build the page of one language inside the current Blocks context."""
    words, listeners = handlers.words, Listeners(handlers.words.language)
    questions = handlers.questions
    Navbar(visible=False)
    top = html(frame.header_html(words), "gs-top", scripts.script_text("header"))
    html(glossary_html(words), "gs-glossary")
    names = html("", "gs-names")
    if sign_in:
        _show(sign_in, PAGE_PATHS[words.language])
    with gr.Tabs(selected="size", elem_id="gs-tabs") as tabs:
        with _tab("size", words) as tab:
            forms = [size_tab.build(handlers, examples, tab, listeners)]
        with _tab("compare", words) as tab:
            form, listed = compare_tab.build(handlers, tab, listeners)
            forms.append(form)
        with _tab("train", words) as tab:
            forms.append(answer_tabs.build_train(questions, tab, listeners))
        with _tab("reverse", words) as tab:
            forms.append(answer_tabs.build_reverse(questions, tab, listeners))
        with _tab("desk", words) as tab:
            forms.append(answer_tabs.build_desk(questions, tab, listeners))
        with _tab("know", words) as tab:
            log_fold = know_tab.build(questions, tab, listeners)
    tabs.change(None, None, None, js=scripts.call("gsAddress.opened"), **listeners.quiet("tab"))
    keep_same(forms, listeners)
    filled: dict[str, Part] = {"tabs": tabs, **listed, "log.fold": log_fold}
    for form in forms:
        filled |= form.filled

    def load(search: str, moved: str) -> dict[Part, object]:
        shown = handlers.load(search, moved)
        return {filled[name]: value for name, value in shown.items()} or {tabs: gr.skip()}

    address = [query_box("gs-address"), query_box("gs-moved")]
    loaded = gr.on(
        [blocks.load, top.input],
        load,
        address,
        [*filled.values()],
        js=scripts.call("gsAsking.load"),
        **listeners("load"),
    )
    marked = loaded.then(
        None, None, None, js=scripts.call("gsAddress.loaded"), **listeners.quiet("loaded")
    )
    marked.then(handlers.gpu_names, None, names, **listeners("names"))


def _tab(name: str, words: Words) -> gr.Tab:
    return gr.Tab(words(f"tab.{name}"), id=name, elem_id=f"{scripts.TAB_ID}{name}")


def build_endpoints_page(sign_in: gr.LoginButton | None = None) -> None:
    """Build the page with examples of calls above Gradio's own API documentation, in English.

    With a login button, Gradio reads the visitor's session and finds the token for calls from a
    signed-in browser.
    """
    words = Words(LANGUAGES[0])
    Navbar(visible=False)
    html(frame.header_html(words), "gs-top")
    if sign_in:
        _show(sign_in, f"/{frame.ENDPOINTS_PATH}")
    html(frame.api_html(words, opened=True), "gs-endpoints", scripts.COPY)


def sign_in_button(words: Words) -> gr.LoginButton:
    """Build the login button of one page, outside of a Blocks, so that it has no listeners yet."""
    return gr.LoginButton(words("sign_in"), elem_id="gs-sign-in", size="sm", scale=0)


def _show(button: gr.LoginButton, path: str) -> None:
    # After signing in, the Hub redirects the visitor to `path`. By default Gradio redirects to the
    # button's page within its Blocks, which is not the address of a language's page.
    button.render()  # type: ignore[no-untyped-call]
    page, button.page = button.page, path.lstrip("/")
    button.activate()  # type: ignore[no-untyped-call]
    button.page = page
