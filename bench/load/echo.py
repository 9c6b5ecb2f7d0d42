"""Gradio's smallest application: an empty page with an echo, in a process of its own."""

from __future__ import annotations

import os
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # Gradio reads it when it is imported

import gradio as gr
from gradio.events import api

from gpusizer.ui.serving import page_options


def echo(value: Any) -> Any:
    """Return the value that was sent."""
    return value


def main() -> None:
    """Serve one text field and an endpoint that does nothing, in the application's theme."""
    blocks: gr.Blocks
    with gr.Blocks(title="empty") as blocks:
        api(echo, api_name="echo", concurrency_limit=8)
        gr.Textbox(label="empty")
    options = {name: page_options()[name] for name in ("theme", "ssr_mode", "run_history")}
    print(blocks.launch(prevent_thread_lock=True, quiet=True, **options)[1], flush=True)
    blocks.block_thread()


if __name__ == "__main__":
    main()
