"""The web application: the public endpoints and one page per language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from gpusizer.sizer import Sizer
from gpusizer.text import LANGUAGES
from gpusizer.ui.endpoints import CONCURRENCY, ForVisitor, register_endpoints
from gpusizer.ui.handlers import Handlers
from gpusizer.ui.page import build_endpoints_page, build_page
from gpusizer.ui.presenters.frame import ENDPOINTS_PATH

_FONTS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "PingFang SC",
          "Microsoft YaHei", "Noto Sans CJK SC", "sans-serif")  # fmt: skip
_MONO = ("ui-monospace", "SF Mono", "Menlo", "Consolas", "Liberation Mono", "monospace")
_MAX_WAITING = 64

FAMOUS = (
    "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B", "deepseek-ai/DeepSeek-R1",
    "openai/gpt-oss-20b", "mistralai/Mistral-7B-Instruct-v0.3", "google/gemma-3-27b-it",
    "Qwen/Qwen3-30B-A3B", "microsoft/phi-4", "Qwen/Qwen3-8B", "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "black-forest-labs/FLUX.1-dev",
)  # fmt: skip
_EXAMPLES = 8


def build_demo(
    sizer: Sizer, embedded_ids: Sequence[str], for_visitor: ForVisitor, *, sign_in: bool = False
) -> gr.Blocks:
    """The application: a page for each language, and one that holds the public endpoints.

    Gradio sends every component of a page to whoever opens it, and an endpoint is made of
    components; on a page of their own they cost readers nothing.

    `sign_in` offers to sign in to the Hub, which works on a Space with OAuth alone.
    """
    examples = choose_examples(embedded_ids)
    demo: gr.Blocks
    with gr.Blocks(title="gpusizer") as demo:
        first = Handlers(sizer, for_visitor, LANGUAGES[0], examples)
        build_page(demo, LANGUAGES[0], first, examples, sign_in=sign_in)
    for language in LANGUAGES[1:]:
        with demo.route(language, f"/{language}", show_in_navbar=False) as page:
            handlers = Handlers(sizer, for_visitor, language, examples)
            build_page(page, language, handlers, examples, sign_in=sign_in)
    with demo.route("endpoints", f"/{ENDPOINTS_PATH}", show_in_navbar=False):
        register_endpoints(sizer, for_visitor)
        build_endpoints_page()
    demo.queue(default_concurrency_limit=CONCURRENCY, max_size=_MAX_WAITING)
    return demo


def choose_examples(embedded_ids: Sequence[str]) -> list[str]:
    """Famous models that are answered without a network, else whatever is."""
    known = set(embedded_ids)
    famous = [model for model in FAMOUS if model in known]
    return (famous or sorted(embedded_ids))[:_EXAMPLES]


def launch_options() -> dict[str, Any]:
    """Arguments of `launch`: nothing that writes, uploads, phones home or needs Node."""
    return {
        "theme": gr.themes.Base(
            primary_hue="indigo", neutral_hue="slate", font=_FONTS, font_mono=_MONO
        ),
        "ssr_mode": False,
        "run_history": False,
        "enable_monitoring": False,
        "max_file_size": "1mb",
        "footer_links": ["api", "settings"],
        "show_error": False,
    }
