"""CheckedCalls: middleware that lets only well-formed calls reach Gradio and its MCP server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from http import HTTPStatus

import gradio as gr
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.api.errors import error_document
from gpusizer.core.errors import GpusizerError, InvalidRequest, RequestTooLarge
from gpusizer.core.validation import fail
from gpusizer.text import say_error
from gpusizer.ui.server.doors.call_validation import check_call, functions_of
from gpusizer.ui.server.doors.gradio_paths import GradioPath, gradio_path
from gpusizer.ui.server.doors.json_body import BODY_BYTES, read_json, replaying, whole_body
from gpusizer.ui.server.doors.refusals import page_language, refused
from gpusizer.ui.server.doors.request_limits import MAX_BODY_BYTES

_MCP = "mcp"
_NO_JSON = -32700  # code of JSON-RPC 2.0 for unreadable input


class CheckedCalls:
    """ASGI middleware that reads the body of a POST to Gradio, checks it and passes it on.

    `takes_logs` are the listeners whose body may be larger than that of a question.
    """

    def __init__(
        self, app: ASGIApp, pages: Mapping[str, gr.Blocks], takes_logs: Collection[str]
    ) -> None:
        self._app = app
        self._takes_logs = takes_logs
        self._functions = {page: functions_of(blocks) for page, blocks in pages.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless its body is refused."""
        path = gradio_path(scope["path"]) if scope["type"] == "http" else None
        if path is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            return
        try:
            self._check(path, Headers(scope=scope), body)
        except GpusizerError as error:
            await _refusal(scope, path, error)(scope, receive, send)
            return
        await self._app({**scope, BODY_BYTES: len(body)}, replaying(body, receive), send)

    def _check(self, path: GradioPath, headers: Headers, body: bytes) -> None:
        # Raises InvalidRequest for a body of another form, RequestTooLarge for a large one without
        # a log.
        value = read_json(body)
        if path.route.partition("/")[0] == _MCP:
            return
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise fail("content-type", media_type, "not_one_of", choices="application/json")
        if not isinstance(value, dict):
            raise fail("body", "", "not_an_object")
        functions = self._functions[path.page]
        check_call(path.route, value, functions)
        logs = {functions.names.get(name) for name in self._takes_logs}
        if len(body) > MAX_BODY_BYTES and value.get("fn_index") not in logs:
            raise RequestTooLarge(limit="body", allowed=MAX_BODY_BYTES)


def held_bytes(pages: Mapping[str, gr.Blocks]) -> int:
    """Return the bytes of unanswered calls: bodies, and as much for parsed values."""
    queues = [blocks._queue for blocks in pages.values()]
    events = [event for queue in queues for event in queue.event_ids_to_events.values()]
    return 2 * sum(int(event.request.scope.get(BODY_BYTES, 0)) for event in events)


def _refusal(scope: Scope, path: GradioPath, error: GpusizerError) -> JSONResponse:
    # The error object; for a client of MCP as the error of JSON-RPC.
    status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(error, InvalidRequest) else None
    if path.route.partition("/")[0] != _MCP:
        return refused(scope, error, status)
    message = say_error(error, page_language(scope))
    told = {"code": _NO_JSON, "message": message, "data": error_document(error, message)["error"]}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, HTTPStatus.BAD_REQUEST)
