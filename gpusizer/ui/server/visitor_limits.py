"""VisitorLimits: refuses the questions of a visitor past the limit of a minute."""

from __future__ import annotations

import logging

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.answers.report import error_json
from gpusizer.core.errors import TooManyRequests
from gpusizer.core.settings import Settings
from gpusizer.text import LANGUAGES, say_error
from gpusizer.ui.server.badge_route import PATH as BADGE_PATH
from gpusizer.ui.server.http_api import DOCS_PATH, OPENAPI_PATH, PATH
from gpusizer.ui.server.http_status import error_headers, language_of, status_of
from gpusizer.ui.server.question_counter import QuestionCounter
from gpusizer.ui.server.visitors import FORWARDED_FOR, visitor_of

_log = logging.getLogger(__name__)


class VisitorLimits:
    """ASGI middleware that refuses a visitor's questions past the limit, with 429.

    Questions are requests below /v1, badges, and calls of Gradio's endpoints and pages, which are
    its POST requests. Files, streams of answers, health and metrics are none.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, counter: QuestionCounter | None = None
    ) -> None:
        """Count with `counter`, by default one of this process with the limit of the settings."""
        self._app = app
        self._trusted_proxies = settings.trusted_proxies
        per_minute = settings.questions_per_minute
        self._counter = per_minute and (counter or QuestionCounter(per_minute))
        self._has_told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless its visitor has asked too often."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            if self._counter:
                await self._counter.close()
            return
        if self._counter and is_question(scope):
            visitor = visitor_of(scope, self._trusted_proxies)
            self._tell_of_proxy(scope)
            seconds = await self._counter.seconds_to_wait(visitor)
            if seconds is not None:
                response = refusal(scope, self._counter.per_minute, seconds)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _tell_of_proxy(self, scope: Scope) -> None:
        """Tell the operator, once, of a proxy that the settings do not name."""
        if self._trusted_proxies or self._has_told or FORWARDED_FOR not in Headers(scope=scope):
            return
        self._has_told = True
        _log.warning(
            "requests have X-Forwarded-For, but GPUSIZER_TRUSTED_PROXIES is 0: behind a proxy all"
            " visitors share one limit of questions"
        )


def is_question(scope: Scope) -> bool:
    """Whether answering a request takes more than sending a file."""
    if scope["type"] != "http":
        return False
    path = scope["path"]
    if path == BADGE_PATH:
        return True
    if path.startswith(f"{PATH}/"):
        return path not in (DOCS_PATH, OPENAPI_PATH) and scope["method"] in ("GET", "HEAD")
    return bool(scope["method"] == "POST")


def refusal(scope: Scope, allowed: int, seconds: int) -> JSONResponse:
    """The error object; Gradio's own clients show its `detail`."""
    error = TooManyRequests(allowed=allowed, retry_after_seconds=seconds)
    page = (name for name in LANGUAGES if scope["path"].startswith(f"/{name}/"))
    language = next(page, None) or language_of(Request(scope))
    message = say_error(error, language)
    body = {**error_json(error, message), "detail": message}
    return JSONResponse(body, status_of(error), error_headers(error, language))
