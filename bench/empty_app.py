"""The least that Gradio serves: `python -m bench.empty_app`, to compare the application with.

One text field on the page, and endpoints that do nothing. Prints its address, then serves
until it is stopped. Its theme is the application's, so that neither asks for fonts elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = "1000"

import gradio as gr
from gradio.events import api

from gpusizer.ui import launch_options
from gpusizer.ui.endpoints import CONCURRENCY

PLAIN = ("theme", "ssr_mode", "run_history")
"""Options of `launch` that both applications need to be comparable."""

_kept: dict[str, Any] = {}


def echo(value: Any) -> Any:
    """What was sent."""
    return value


def keep(value: dict[str, Any]) -> str:
    """Remember an object for `kept`."""
    _kept.update(value)
    return "kept"


def kept(word: str) -> dict[str, Any]:
    """The object that was remembered, whatever the word."""
    return _kept


def build() -> gr.Blocks:
    """The page and its endpoints."""
    demo: gr.Blocks
    with gr.Blocks(title="empty") as demo:
        for endpoint in (echo, keep, kept):
            api(endpoint, api_name=endpoint.__name__, concurrency_limit=CONCURRENCY)
        gr.Textbox(label="empty")
    return demo


if __name__ == "__main__":
    served = build()
    options = {name: value for name, value in launch_options().items() if name in PLAIN}
    print(served.launch(prevent_thread_lock=True, quiet=True, **options)[1], flush=True)
    served.block_thread()
