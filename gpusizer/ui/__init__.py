"""The web application: the public endpoints, and one page per language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import gradio as gr

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import Reports, Stored, sample_answer
from gpusizer.ui.page.blocks import build_endpoints_page, build_page, sign_in_button
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.served_blocks import ServedBlocks
from gpusizer.ui.presenters.pieces.frame import ENDPOINTS_PATH
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.answer_cache import AnswerCache, Answers, ForVisitor
from gpusizer.ui.server.endpoints import register_endpoints
from gpusizer.ui.server.health import Monitor
from gpusizer.ui.server.unread_answers import UnreadAnswers
from gpusizer.ui.server.work_pool import WorkPool
from gpusizer.usecases.sizer import Sizer

# Popular models of this autumn (`data/generated/model_use.csv`), of every size.
FAMOUS = (
    "Qwen/Qwen3.5-9B",
    "Qwen/Qwen3.6-35B-A3B",
    "google/gemma-4-31B-it",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V4-Flash",
    "zai-org/GLM-4.7-Flash",
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen3-8B",
    "openai/gpt-oss-120b",
    "Qwen/Qwen3-32B",
    "microsoft/phi-4",
    "black-forest-labs/FLUX.1-dev",
)
_EXAMPLES = 8


@dataclass(frozen=True, slots=True)
class Application:
    """The pages that people open and the endpoints that programs call, each in its own Blocks.

    Gradio sends a description of every component of a Blocks to each new session, and every call
    over HTTP opens a session. With separate Blocks a call does not describe the pages, nor a page
    those in other languages.
    """

    pages: Mapping[Language, gr.Blocks]  # page of each language
    endpoints: gr.Blocks  # public endpoints, and the page at `/endpoints` that documents them
    answers: Answers  # answers of the endpoints, also over plain HTTP
    monitor: Monitor  # metrics and health for the operator
    unread: UnreadAnswers  # messages that Gradio keeps until they are read


def build_application(
    sizer: Sizer,
    embedded_ids: Sequence[str],
    for_visitor: ForVisitor,
    monitor: Monitor,
    *,
    stored: Stored = lambda model: None,
    sign_in: bool = False,
) -> Application:
    """Build every Blocks; with `sign_in` each has a login button (for Spaces with OAuth).

    `stored` returns the embedded snapshot of the example on the first page.
    """
    examples = choose_examples(embedded_ids)
    sample = sample_answer(sizer, examples[0], stored) if examples else None
    reports, pool, unread = Reports(), WorkPool(), UnreadAnswers()
    pages: dict[Language, gr.Blocks] = {}
    for language in LANGUAGES:
        handlers = Handlers(sizer, for_visitor, language, examples, sample, reports)
        button = _without_icon(sign_in_button(handlers.words)) if sign_in else None
        with ServedBlocks(unread, handlers.words("document_title"), pool) as pages[language]:
            build_page(pages[language], handlers, examples, button)
    cache = AnswerCache(sizer, on_lookup=monitor.metrics.lookup)
    answers = Answers(sizer, for_visitor, cache, pool)
    endpoints = _build_endpoints(answers, monitor, unread, sign_in=sign_in)
    return Application(pages, endpoints, answers, monitor, unread)


def _build_endpoints(
    answers: Answers, monitor: Monitor, unread: UnreadAnswers, *, sign_in: bool
) -> gr.Blocks:
    button = _without_icon(sign_in_button(Words(LANGUAGES[0]))) if sign_in else None
    endpoints: gr.Blocks
    with ServedBlocks(unread, "gpusizer") as endpoints:
        pass  # `/` is the English page
    with endpoints.route("endpoints", f"/{ENDPOINTS_PATH}", show_in_navbar=False):
        register_endpoints(answers, monitor.metrics)
        build_endpoints_page(button)
    for listener in endpoints.fns.values():
        if str(listener.api_name).startswith("_"):  # the login button's, for the page alone
            listener.api_visibility = "undocumented"
    return endpoints


def _without_icon(button: gr.LoginButton) -> gr.LoginButton:
    # Its icon is a file of Gradio's, whose path on the server would be its address.
    button.icon = None
    return button


def choose_examples(embedded_ids: Sequence[str]) -> list[str]:
    """Return famous models among the embedded ones, or the first embedded ones without any."""
    embedded = set(embedded_ids)
    famous = [model for model in FAMOUS if model in embedded]
    return (famous or sorted(embedded_ids))[:_EXAMPLES]
