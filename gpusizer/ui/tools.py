"""The endpoints as tools of the Model Context Protocol: JSON text instead of Python's notation."""

from __future__ import annotations

import json
from typing import Any

import gradio.mcp
from mcp.types import TextContent


class JsonTools(gradio.mcp.GradioMCPServer):
    """Gradio's server, but for how an answer is written.

    Gradio 6.31 puts `str(answer)` into the text of a tool's result, which for a dict is no
    JSON (gradio/mcp.py, `postprocess_output_data`).
    """

    def postprocess_output_data(self, data: Any, root_url: str) -> list[Any]:
        """One text for each output: our endpoints have one, an object."""
        return [TextContent(type="text", text=json.dumps(one, ensure_ascii=False)) for one in data]


def use_json_tools() -> None:
    """Let every application that is launched from now on answer so."""
    gradio.mcp.GradioMCPServer = JsonTools  # type: ignore[misc]
