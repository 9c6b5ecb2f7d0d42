"""Observation: counts, times and logs every HTTP request by its route alone."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.core.structured_log import FACTS
from gpusizer.text import LANGUAGES
from gpusizer.ui.presenters.badge import PATH as BADGE_PATH
from gpusizer.ui.presenters.pieces.addresses import PAGE_PATHS
from gpusizer.ui.presenters.pieces.frame import ENDPOINTS_PATH
from gpusizer.ui.server.http_api import DOCS_PATH, OPENAPI_PATH, PATH
from gpusizer.ui.server.metrics import Metrics
from gpusizer.usecases.use_cases import USE_CASES

LOGGER = "gpusizer.requests"  # logger of every request, at INFO

_log = logging.getLogger(LOGGER)

_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
_EXACT = frozenset(
    {
        *PAGE_PATHS.values(),
        *(f"/{ENDPOINTS_PATH}", "/style.css", "/llms.txt", "/healthz", "/metrics"),
        *(DOCS_PATH, OPENAPI_PATH, BADGE_PATH, *(f"{PATH}/{question}" for question in USE_CASES)),
    }
)
_BEGINNINGS = (
    *("/gradio_api/call/", "/gradio_api/queue/", "/gradio_api/mcp/", "/gradio_api/upload"),
    *("/gradio_api/", *(f"/{language}/" for language in LANGUAGES)),
)
_OTHER = "other"
_FAILED = 500


class Observation:
    """ASGI middleware that records each finished request in the metrics and the log."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and record its status."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = _FAILED, time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        route = route_of(scope["path"])
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        try:
            await self._app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - start
            self._metrics.request(route, method, status, seconds)
            facts = {"route": route, "method": method, "status": status}
            milliseconds = round(seconds * 1000, 1)
            _log.info("request", extra={FACTS: {**facts, "milliseconds": milliseconds}})


def route_of(path: str) -> str:
    """Return the route of a path, one of few names: a path may hold a caller's text.

    >>> route_of("/v1/size"), route_of("/gradio_api/call/size_model/7f"), route_of("/org/name")
    ('/v1/size', '/gradio_api/call/', 'other')
    """
    if path in _EXACT:
        return path
    return next((beginning for beginning in _BEGINNINGS if path.startswith(beginning)), _OTHER)
