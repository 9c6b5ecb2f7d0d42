"""OpenStreams: limits on the number and the duration of connections that wait for answers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.core.errors import ServerBusy
from gpusizer.core.settings import Settings
from gpusizer.ui.server.doors.gradio_paths import gradio_path
from gpusizer.ui.server.doors.refusals import refused
from gpusizer.ui.server.visitors import visitor_of

_MOST = 512  # streams at a time; one takes 20 to 50 kB
_MOST_OF_ONE = 32  # streams of one visitor; a page has one while it waits

# A longer stream is ended. Answers take a minute at most, and clients of MCP reconnect.
_LONGEST_SECONDS = 900.0
_RETRY_AFTER_SECONDS = 5
_MCP = re.compile(r"mcp(?:/|$)")
_READ = re.compile(r"queue/data$|heartbeat/|call/")


class OpenStreams:
    """ASGI middleware that refuses streams past the limits with 503, and ends long ones.

    Streams are the messages of a session or an event, heartbeats and all of MCP. If the settings
    have no limit of questions, one visitor may have all of them.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        most: int = _MOST,
        most_of_one: int = _MOST_OF_ONE,
        longest_seconds: float = _LONGEST_SECONDS,
    ) -> None:
        self._app = app
        self._trusted_proxies = settings.trusted_proxies
        self._most = most
        self._most_of_one = most if settings.questions_per_minute is None else most_of_one
        self._longest_seconds = longest_seconds
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is a stream past the limits."""
        if not is_stream(scope):
            await self._app(scope, receive, send)
            return
        visitor = visitor_of(scope, self._trusted_proxies)
        if self._open.total() >= self._most or self._open[visitor] >= self._most_of_one:
            await refused(scope, ServerBusy(retry_after_seconds=_RETRY_AFTER_SECONDS))(
                scope, receive, send
            )
            return
        self._open[visitor] += 1
        try:
            await self._stream(scope, receive, send)
        finally:
            self._open -= Counter([visitor])  # drops visitors without streams

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_started = False

        async def noting(message: Message) -> None:
            nonlocal is_started
            is_started = is_started or message["type"] == "http.response.start"
            await send(message)

        try:
            async with asyncio.timeout(self._longest_seconds):
                await self._app(scope, receive, noting)
        except TimeoutError:
            if not is_started:
                await refused(scope, ServerBusy(retry_after_seconds=_RETRY_AFTER_SECONDS))(
                    scope, receive, send
                )
            else:
                await send({"type": "http.response.body", "body": b"", "more_body": False})


def is_stream(scope: Scope) -> bool:
    """Return whether a request may keep its connection open for later messages.

    >>> is_stream({"type": "http", "method": "GET", "path": "/zh/gradio_api/queue/data"})
    True
    >>> is_stream({"type": "http", "method": "POST", "path": "/gradio_api/call/v2/size_model"})
    False
    """
    path = gradio_path(scope["path"]) if scope["type"] == "http" else None
    if path is None:
        return False
    is_read = scope["method"] == "GET" and _READ.match(path.route) is not None
    return is_read or _MCP.match(path.route) is not None
