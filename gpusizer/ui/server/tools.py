"""Endpoints as tools of the Model Context Protocol: short answers as JSON, whole on request."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any

import gradio as gr
import mcp
from gradio.block_function import BlockFunction
from gradio.mcp import GradioMCPServer
from mcp.server import Server
from mcp.shared import session
from mcp.types import ImageContent, TextContent

from gpusizer import __version__
from gpusizer.api.base import Document
from gpusizer.core.printable import json_text
from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.short_answers import SHORT_FORMS, first_rows, shortened

_COMMANDS = {endpoint.name: endpoint.command for endpoint in PUBLIC}


@dataclass(frozen=True, slots=True)
class _Call:
    """Settings of a tool's call: whole answers, and the number of rows."""

    command: str
    details: bool
    top: int | None


class ToolFailure(Exception):
    """A failed call. The library mcp answers an exception with its text and `isError`."""


class JsonTools(GradioMCPServer):
    """Gradio's MCP server with short JSON answers, marked failures and unprefixed names.

    Gradio 6.31 writes `str(result)` as the text of a tool's result (`postprocess_output_data` in
    gradio/mcp.py), which for a dict is Python's notation; begins names with that of a Space; offers
    the listener of a login button, `_check_login_status`, as a tool; and states no version, for
    which the library mcp puts its own.
    """

    def __init__(self, blocks: gr.Blocks) -> None:
        _log_no_messages()
        super().__init__(blocks)
        self._call: ContextVar[_Call] = ContextVar("call")

    def create_mcp_server(self) -> Server[Any, Any]:
        """Return the server with gpusizer's version; its name is the title of the Blocks."""
        server: Server[Any, Any] = super().create_mcp_server()
        server.version = __version__
        return server

    def get_tool_to_endpoint(self) -> dict[str, str]:
        """Return the public endpoints by their own names, also on a Space."""
        self.tool_prefix = ""
        named = super().get_tool_to_endpoint()
        return {name: endpoint for name, endpoint in named.items() if name in _COMMANDS}

    def get_input_schema(
        self, tool_name: str, parameters: dict[str, str] | None = None
    ) -> tuple[Document, list[list[str | int]]]:
        """Return the schema of the endpoint's fields and of those of the short form."""
        schema, positions = super().get_input_schema(tool_name, parameters)
        return {**schema, "properties": schema["properties"] | _more(tool_name)}, positions

    def _prepare_tool_call_args(
        self, name: str, arguments: Document
    ) -> tuple[str, list[object], dict[str, str], BlockFunction]:
        # Takes the fields of the short form out of a call, keeps them until its result, and has the
        # endpoint's function called without the queue.
        fields = dict(arguments)
        top = fields.get("top")
        if name in _COMMANDS:
            details = bool(fields.pop("details", False))
            self._call.set(_Call(_COMMANDS[name], details, top if isinstance(top, int) else None))
            if not _asks_top(name):
                fields.pop("top", None)
        endpoint, values, headers, queued = super()._prepare_tool_call_args(name, fields)
        # Gradio would call itself over HTTP and wait for that in one of the threads which its own
        # answer needs: forty calls at once waited for each other. What is not queued it calls.
        at_once = copy(queued)
        at_once.queue = False
        return endpoint, values, headers, at_once

    def postprocess_output_data(
        self, data: Iterable[Document], root_url: str
    ) -> list[TextContent | ImageContent]:
        """Return one JSON text for each output; an endpoint has one, an object.

        Raises ToolFailure for an error.
        """
        return [TextContent(type="text", text=self._text(output)) for output in data]

    def _text(self, output: Document) -> str:
        if "error" in output:
            raise ToolFailure(json_text(output))
        call = self._call.get()
        if call.details:
            return json_text(first_rows(call.command, output, call.top))
        return json_text(shortened(call.command, output, call.top))


def _log_no_messages() -> None:
    # The library mcp (1.30) logs messages that it cannot read, up to 8 kB each with all their
    # content: below its own name, and in mcp/shared/session.py as the root.
    logging.getLogger(mcp.__name__).setLevel(logging.ERROR)
    logging.getLogger().addFilter(_is_no_message)


def _is_no_message(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or record.pathname != session.__file__


def _asks_top(name: str) -> bool:
    # Whether the request itself has a number of rows.
    return any(name == endpoint.name and "top" in endpoint.parameters for endpoint in PUBLIC)


def _more(name: str) -> Document:
    # Fields that only a tool has.
    form = SHORT_FORMS[_COMMANDS[name]]
    return {
        "details": {
            "type": "boolean",
            "description": "Everything the question's contract has instead of the short form:"
            " much longer, so name a GPU or a small top with it.",
            "default": False,
        },
        "top": {
            "type": "integer",
            "description": f"Entries of {form.rows}; how many more there are is said.",
            "default": form.top,
        },
    }
