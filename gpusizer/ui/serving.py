"""Serving: the application launched, with the few addresses that Gradio does not know."""

from __future__ import annotations

from typing import Any

import gradio as gr
from fastapi.responses import PlainTextResponse

from gpusizer.ui import launch_options
from gpusizer.ui.delivery import middleware
from gpusizer.ui.llms import llms_text
from gpusizer.ui.tools import use_json_tools


def launch(demo: gr.Blocks, **options: Any) -> str:
    """Start to serve in the background; the local address.

    Besides the pages and endpoints: `/llms.txt` for language models that look for one, and
    `/healthz`. `options` go to Gradio's `launch`, after those of the application.
    """
    use_json_tools()
    fast = {"app_kwargs": {"middleware": middleware()}}
    app, url, _ = demo.launch(
        prevent_thread_lock=True, mcp_server=True, **{**launch_options(), **fast, **options}
    )

    def llms() -> PlainTextResponse:
        return PlainTextResponse(llms_text(demo))

    def health() -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    app.add_api_route("/llms.txt", llms, include_in_schema=False)
    app.add_api_route("/healthz", health, include_in_schema=False)
    return str(url)
