"""FinishedCalls: Gradio's queue forgets a call over HTTP some time after its answer was read.

A call over HTTP is a session of its own. Gradio (6.31, gradio/queueing.py) keeps a set of the
pending events of every session, also once it is empty: 0.45 kB of each call, for as long as the
process lives, and the stream of a finished call is searched for in all of them. It drops the empty
set of a session (`clean_events`) whose stream has lost its client. So each stream that was read to
its end is opened once more, by a client that has left already.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

REST_SECONDS = 60.0
"""How long a stream is left alone, so that its event has ended in the queue, too. Only then Gradio
takes an event's name for that of its session, of which nothing else can be pending."""

_STREAMS = "/gradio_api/call/"
_LEAVING = {"version": "3.0", "spec_version": "2.4"}
"""From 2.4 on, Starlette lets a stream begin before it looks whether the client is there."""
_VISITS = 2
"""Rested streams that are visited after each call: more than come, and no wait for the next."""


class FinishedCalls:
    """ASGI middleware next to Gradio's application. Used by one event loop."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._finished: deque[tuple[float, str]] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; after a stream, visit streams that have rested."""
        if not _is_stream(scope):
            await self._app(scope, receive, send)
            return
        # Routers change the scope of a request.
        template = {**scope, "asgi": _LEAVING, "headers": [], "query_string": b""}
        await self._app(scope, receive, send)
        now = self._clock()
        self._finished.append((now + REST_SECONDS, template["path"]))
        for _ in range(_VISITS):
            if self._finished and self._finished[0][0] <= now:
                _, path = self._finished.popleft()
                visit = {**template, "path": path, "raw_path": path.encode()}
                await self._app(visit, _gone, _ignore)


def _is_stream(scope: Scope) -> bool:
    is_read = scope["type"] == "http" and scope["method"] == "GET"
    return is_read and _STREAMS in scope["path"]


async def _gone() -> Message:
    """What a client says that has left."""
    return {"type": "http.disconnect"}


async def _ignore(message: Message) -> None:
    """Send nothing to nobody."""
