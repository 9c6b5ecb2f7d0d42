"""Serving: the application launched, with the few addresses that Gradio does not know."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import gradio as gr
from fastapi.responses import PlainTextResponse
from starlette.middleware import Middleware

from gpusizer.ui import launch_options
from gpusizer.ui.calls import Calls
from gpusizer.ui.delivery import middleware
from gpusizer.ui.endpoints import PUBLIC
from gpusizer.ui.llms import llms_text
from gpusizer.ui.tools import use_json_tools


def remember_descriptions(components: Iterable[gr.blocks.Block]) -> None:
    """Spare each new session, as every call by HTTP is, most of what it costs.

    Gradio describes all components to each of them anew, from the signatures of their constructors
    (gradio/state_holder.py, `SessionState`; gradio/blocks.py, `get_config`). They stay what they
    are: an event that changes one for a session makes another. A session changes the first level
    of a description, so that each gets a copy.
    """
    for component in components:
        component.get_config = partial(dict, component.get_config())  # type: ignore[method-assign]


def launch(demo: gr.Blocks, **options: Any) -> str:
    """Start to serve in the background; the local address.

    Besides the pages and endpoints: `/llms.txt` for language models that look for one, and
    `/healthz`. `options` go to Gradio's `launch`, after those of the application.
    """
    use_json_tools()
    remember_descriptions(demo.blocks.values())
    fast = {"app_kwargs": {"middleware": [Middleware(Calls, endpoints=PUBLIC), *middleware()]}}
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
