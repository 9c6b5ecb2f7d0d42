"""VisitorLimits: middleware that identifies visitors and refuses questions past the limits."""

from __future__ import annotations

import logging
import math

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.api.errors import error_document
from gpusizer.core.cpu_limiter import CPU_LIMITER, CpuLimiter
from gpusizer.core.errors import GpusizerError, TooManyRequests
from gpusizer.core.settings import Settings
from gpusizer.text import LANGUAGES, say_error
from gpusizer.ui.server.asker import with_asker
from gpusizer.ui.server.http_api import DOCS_PATH, OPENAPI_PATH, PATH
from gpusizer.ui.server.http_status import error_headers, language_of, status_of
from gpusizer.ui.server.question_counter import QuestionCounter, key_of
from gpusizer.ui.server.visitors import FORWARDED_FOR, visitor_of
from gpusizer.ui.server.work_pool import WorkPool

_log = logging.getLogger(__name__)


class VisitorLimits:
    """ASGI middleware that records the visitor and refuses questions past the limits with 429.

    Limits hold for questions and processor time in a minute, and for questions under way. Questions
    are requests below /v1, and the calls of Gradio's endpoints and pages, which are its POST
    requests, but not files, streams of answers, health and metrics.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        pool: WorkPool | None = None,
        counter: QuestionCounter | None = None,
        turns: CpuLimiter = CPU_LIMITER,
    ) -> None:
        """Use the `pool` and `turns` that answer; `counter` defaults to one of this process."""
        self._app = app
        self._settings = settings
        self._pool = pool
        self._turns = turns
        per_minute = settings.questions_per_minute
        self._counter = None if per_minute is None else counter or QuestionCounter(per_minute)
        self._has_told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless its visitor is past the limits."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            if self._counter:
                await self._counter.close()
            return
        visitor = None
        if self._settings.tells_visitors_apart:
            visitor = visitor_of(scope, self._settings.trusted_proxies)
        scope = with_asker(scope, None if visitor is None else key_of(visitor))
        if is_question(scope):
            self._tell_of_proxy(scope)
            error = await self._refusal(visitor)
            if error is not None:
                await refusal(scope, error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _refusal(self, visitor: str | None) -> GpusizerError | None:
        # None if the question is allowed, which then counts.
        key = None if visitor is None else key_of(visitor)
        error = self._pool.refusal(key) if self._pool else None
        if error is not None or visitor is None or key is None:
            return error
        most = self._settings.seconds_per_minute
        wait = None if most is None else self._turns.seconds_to_wait(key, most)
        if wait is not None:
            return TooManyRequests(
                allowed=most,
                reason="processor_seconds",
                retry_after_seconds=min(max(math.ceil(wait), 1), 60),
            )
        seconds = await self._counter.seconds_to_wait(visitor) if self._counter else None
        if self._counter is None or seconds is None:
            return None
        return TooManyRequests(allowed=self._counter.per_minute, retry_after_seconds=seconds)

    def _tell_of_proxy(self, scope: Scope) -> None:
        # Once, if the settings do not name the proxy.
        if self._settings.trusted_proxies or self._has_told:
            return
        if not self._settings.tells_visitors_apart or FORWARDED_FOR not in Headers(scope=scope):
            return
        self._has_told = True
        _log.warning(
            "requests have X-Forwarded-For, but GPUSIZER_TRUSTED_PROXIES is 0: behind a proxy all"
            " visitors share the limits of one"
        )


def is_question(scope: Scope) -> bool:
    """Return whether a request needs more work than sending a file."""
    if scope["type"] != "http":
        return False
    path = scope["path"]
    if path.startswith(f"{PATH}/"):
        return path not in (DOCS_PATH, OPENAPI_PATH) and scope["method"] in ("GET", "HEAD")
    return bool(scope["method"] == "POST")


def refusal(scope: Scope, error: GpusizerError) -> Response:
    """Return the error object; Gradio's own clients show its `detail`."""
    page = (name for name in LANGUAGES if scope["path"].startswith(f"/{name}/"))
    language = next(page, None) or language_of(Request(scope))
    message = say_error(error, language)
    body = {**error_document(error, message), "detail": message}
    return JSONResponse(body, status_of(error), error_headers(error, language))
