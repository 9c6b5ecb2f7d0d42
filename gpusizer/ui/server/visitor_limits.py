"""VisitorLimits: how many questions of one visitor are answered in a minute."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from hashlib import sha256

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.answers.report import error_json
from gpusizer.core.errors import TooManyRequests
from gpusizer.core.settings import Settings
from gpusizer.text import LANGUAGES, say_error
from gpusizer.ui.server.http_api import DOCS_PATH, OPENAPI_PATH, PATH
from gpusizer.ui.server.http_status import error_headers, language_of, status_of
from gpusizer.ui.server.visitors import FORWARDED_FOR, visitor_of

try:
    from redis.asyncio import ConnectionPool
except ImportError:  # an extra: requirements-redis.txt
    ConnectionPool = None  # type: ignore[assignment,misc]

_KEYS = "gpusizer:questions"
"""How the names of keys in a Redis begin."""
_REDIS_SECONDS = 0.5
"""How long a Redis may take to connect or to answer."""
_REST_SECONDS = 5.0
"""How long a Redis that failed is left alone."""

_log = logging.getLogger(__name__)


class QuestionCounter:
    """Counts questions of visitors: in this process, or in a Redis that several share.

    While that Redis is away, each process counts for itself. A window slides: of the minute
    before the present one as much counts as is less than a minute ago
    (`SlidingWindowCounterRateLimiter` of the library `limits`). Used by one event loop.
    """

    def __init__(
        self,
        per_minute: int,
        redis_url: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.per_minute = per_minute
        self._item = RateLimitItemPerMinute(per_minute)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._connections = None if redis_url is None else _connections(redis_url)
        self._shared = None
        if redis_url is not None:
            storage = _redis_storage(redis_url, self._connections)
            self._shared = SlidingWindowCounterRateLimiter(storage)
        self._clock = clock
        self._rests_until = 0.0
        self._is_away = False

    async def seconds_to_wait(self, visitor: str) -> int | None:
        """Count a question; None if it is to be answered, else seconds until one would be."""
        # A digest: who asked what is nobody's business, not even for a minute.
        key = sha256(visitor.encode(errors="replace")).hexdigest()[:32]
        if self._shared is not None and self._clock() >= self._rests_until:
            try:
                seconds = await self._hit(self._shared, key)
            except StorageError:
                self._rests_until = self._clock() + _REST_SECONDS
                self._note(is_away=True)
            else:
                self._note(is_away=False)
                return seconds
        return await self._hit(self._own, key)

    async def close(self) -> None:
        """Close the connections to Redis."""
        if self._connections is not None:
            await self._connections.aclose()

    async def _hit(self, limiter: SlidingWindowCounterRateLimiter, key: str) -> int | None:
        if await limiter.hit(self._item, key):
            return None
        stats = await limiter.get_window_stats(self._item, key)
        return min(max(math.ceil(stats.reset_time - self._clock()), 1), 60)

    def _note(self, *, is_away: bool) -> None:
        if is_away != self._is_away:
            self._is_away = is_away
            state = "away: this process counts its own" if is_away else "back"
            _log.warning("the shared count of questions is %s", state)


class VisitorLimits:
    """ASGI middleware that refuses a visitor's questions past the limit, with 429.

    Questions are requests below /v1 and the calls of Gradio's endpoints and pages, which are its
    POST requests. Files, streams of answers, health and metrics are none.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._trusted_proxies = settings.trusted_proxies
        per_minute = settings.questions_per_minute
        self._counter = per_minute and QuestionCounter(per_minute, settings.cache_url)
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


def _connections(redis_url: str) -> ConnectionPool:
    """Connections of our own, which we can close; redis would try them again for seconds."""
    seconds = {"socket_connect_timeout": _REDIS_SECONDS, "socket_timeout": _REDIS_SECONDS}
    return ConnectionPool.from_url(redis_url, retry=None, **seconds)


def _redis_storage(redis_url: str, connections: ConnectionPool | None) -> RedisStorage:
    return RedisStorage(
        f"async+redis+{redis_url}" if redis_url.startswith("unix:") else f"async+{redis_url}",
        wrap_exceptions=True,
        implementation="redispy",
        key_prefix=_KEYS,
        connection_pool=connections,  # type: ignore[arg-type]  # documented, of no declared type
    )
