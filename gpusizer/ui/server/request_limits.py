"""RequestLimits: how long an address and how large a body a request may have."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.answers.report import error_json
from gpusizer.core.errors import RequestTooLarge
from gpusizer.text import say_error
from gpusizer.ui.server.http_status import RETRY_AFTER_SECONDS, status_of

MAX_QUERY_BYTES = 8_192
MAX_BODY_BYTES = 8_000_000
"""Of a start-up log the page reads 2 MiB of characters, of which UTF-8 and JSON can make more."""


class RequestLimits:
    """ASGI middleware that refuses what is too large, and says when to come again.

    Whatever answers 429 or 503 without `Retry-After`, such as Gradio's queue when it is full,
    gets that header.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with at most so many bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            await _refusal("query", MAX_QUERY_BYTES)(scope, receive, send)
            return
        body = _BoundedBody(receive, send)
        if body.is_announced_too_large(Headers(scope=scope)):
            await _refusal("body", MAX_BODY_BYTES)(scope, receive, send)
            return
        try:
            await self._app(scope, body.receive, body.send)
        except ClientDisconnect:
            if not body.is_refused:
                raise
        if body.is_refused and not body.is_answered:
            await _refusal("body", MAX_BODY_BYTES)(scope, receive, send)


class _BoundedBody:
    """Receives a body up to the limit; past it the answer of the application is held back."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._received_bytes = 0
        self.is_refused = False
        self.is_answered = False

    @staticmethod
    def is_announced_too_large(headers: Headers) -> bool:
        """Whether the request says itself that its body is larger than the limit."""
        length = headers.get("content-length", "")
        return length.isdecimal() and (len(length) > 15 or int(length) > MAX_BODY_BYTES)

    async def receive(self) -> Message:
        """The next part of the body; the application sees a caller who left once it is too long."""
        if self.is_refused:
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request":
            self._received_bytes += len(message.get("body", b""))
            if self._received_bytes > MAX_BODY_BYTES:
                self.is_refused = True
                return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if self.is_refused and not self.is_answered:
            return
        if message["type"] == "http.response.start":
            self.is_answered = True
            seconds = RETRY_AFTER_SECONDS.get(message["status"])
            if seconds is not None:
                MutableHeaders(scope=message).setdefault("retry-after", str(seconds))
        await self._send(message)


def _refusal(limit: str, allowed: int) -> JSONResponse:
    error = RequestTooLarge(limit=limit, allowed=allowed)
    return JSONResponse(error_json(error, say_error(error)), status_of(error))
