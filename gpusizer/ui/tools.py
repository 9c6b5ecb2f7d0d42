"""The endpoints as tools of the Model Context Protocol, whose results are JSON."""

from __future__ import annotations

from typing import Any

from gradio.mcp import GradioMCPServer
from mcp.types import TextContent

from gpusizer.core.printable import json_text


class JsonTools(GradioMCPServer):
    """Gradio's MCP server, which writes results as JSON.

    Gradio 6.31 writes `str(result)` as the text of a tool's result (`postprocess_output_data` in
    gradio/mcp.py); for a dict that is Python's notation, not JSON.
    """

    def postprocess_output_data(self, data: Any, root_url: str) -> list[Any]:
        """One JSON text for each output; an endpoint has one, an object."""
        return [TextContent(type="text", text=json_text(output)) for output in data]
