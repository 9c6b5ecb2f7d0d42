"""KnownStreams: middleware that refuses event streams of unknown sessions and events.

Gradio 6.31 begins to answer with 200, then finds nothing under that name and raises an error, whose
traceback of 6 kB is logged (`sse_stream` in gradio/routes.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import gradio as gr
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.core.errors import UnknownEvent
from gpusizer.ui.server.doors.gradio_paths import gradio_path
from gpusizer.ui.server.doors.refusals import refused

_SESSION = "queue/data"
_EVENT = re.compile(r"call/(?:v2/)?[^/]+/(?P<event>[^/]+)")


class KnownStreams:
    """ASGI middleware that answers 404 for streams that would stay empty."""

    def __init__(self, app: ASGIApp, pages: Mapping[str, gr.Blocks]) -> None:
        self._app = app
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it asks for a stream with an unknown name."""
        if self._is_unknown(scope):
            await refused(scope, UnknownEvent())(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_unknown(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] != "GET":
            return False
        path = gradio_path(scope["path"])
        if path is None:
            return False
        queue = self._pages[path.page]._queue
        waiting = queue.pending_messages_per_session
        if path.route == _SESSION:
            session = Request(scope).query_params.get("session_hash")
            return session is not None and session not in waiting
        asked = _EVENT.fullmatch(path.route)
        if asked is None:
            return False
        # A session without a name of its own has that of its event; of others the event names the
        # session until its answer is fetched.
        event = asked["event"]
        names = queue.pending_event_ids_session.items()
        return event not in waiting and not any(
            event in events and session in waiting for session, events in names
        )
