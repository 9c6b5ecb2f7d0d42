"""RequestLimits: limits on the length of addresses, and on size, time and total of bodies."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from anyio import CancelScope, current_time
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.core.errors import GpusizerError, RequestTooLarge, RequestTooSlow, ServerBusy
from gpusizer.core.settings import Settings
from gpusizer.ui.server.doors.body_budget import BodyBudget
from gpusizer.ui.server.doors.gradio_paths import ENDPOINTS, gradio_path
from gpusizer.ui.server.doors.refusals import refused
from gpusizer.ui.server.http_status import RETRY_AFTER_SECONDS
from gpusizer.ui.server.visitors import visitor_of

MAX_QUERY_BYTES = 8_192
MAX_BODY_BYTES = 256_000
MAX_LOG_BYTES = 8_000_000  # a start-up log of 2 MiB of characters, which UTF-8 and JSON can enlarge
BODY_SECONDS = 20.0

# least rate of a body that takes longer, 0.5 Mbit/s: a log has 145 seconds in all
_BYTES_PER_SECOND = 64_000
_JOIN = "queue/join"


class RequestLimits:
    """ASGI middleware that refuses requests that are too large, too slow or too many.

    An answer of 429 or 503 without `Retry-After`, such as that of Gradio's full queue, gets that
    header.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        held_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        """Keep the limits; `held_bytes` counts bodies whose requests ended before their answers."""
        self._app = app
        self._trusted_proxies = settings.trusted_proxies
        self._budget = BodyBudget(held_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with no more of its body than is allowed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            error = RequestTooLarge(limit="query", allowed=MAX_QUERY_BYTES)
            await refused(scope, error)(scope, receive, send)
            return
        visitor = visitor_of(scope, self._trusted_proxies)
        body = _BoundedBody(receive, send, _most_bytes(scope), self._budget, visitor)
        if body.is_announced_too_large(Headers(scope=scope)):
            await refused(scope, body.too_large)(scope, receive, send)
            return
        try:
            await self._app(scope, body.receive, body.send)
        except ClientDisconnect:
            if body.refusal is None:
                raise
        finally:
            body.give_back()
        if body.refusal is not None and not body.is_answered:
            # The rest of the body would be read, and thrown away, for as long as it comes.
            closing = {"connection": "close"} if isinstance(body.refusal, RequestTooSlow) else {}
            await refused(scope, body.refusal, headers=closing)(scope, receive, send)


def _most_bytes(scope: Scope) -> int:
    # A page's listeners share one address, and one of them takes a log.
    path = gradio_path(scope["path"])
    takes_log = path is not None and path.page != ENDPOINTS and path.route == _JOIN
    return MAX_LOG_BYTES if takes_log else MAX_BODY_BYTES


class _BoundedBody:
    """Receives a body within the limits; past one the application's answer is held back."""

    def __init__(
        self, receive: Receive, send: Send, most_bytes: int, budget: BodyBudget, visitor: str
    ) -> None:
        self._receive = receive
        self._send = send
        self._most_bytes = most_bytes
        self._budget = budget
        self._visitor = visitor
        self._received_bytes = 0
        self._begin_seconds = current_time()
        self._is_whole = False
        self.refusal: GpusizerError | None = None
        self.is_answered = False

    @property
    def too_large(self) -> RequestTooLarge:
        """The error of a body past the limit."""
        return RequestTooLarge(limit="body", allowed=self._most_bytes)

    def is_announced_too_large(self, headers: Headers) -> bool:
        """Return whether the request states a body larger than the limit."""
        length = headers.get("content-length", "")
        return length.isdecimal() and (len(length) > 15 or int(length) > self._most_bytes)

    async def receive(self) -> Message:
        """Return the next part of the body; after a refusal the application sees a disconnect."""
        if self.refusal is None:
            message = await self._next()
            if message is not None and message["type"] == "http.request":
                self._is_whole = not message.get("more_body", False)
                self.refusal = self._count(len(message.get("body", b"")))
            if message is not None and self.refusal is None:
                return message
        return {"type": "http.disconnect"}

    async def _next(self) -> Message | None:
        # None, with a refusal, if a part of the body does not come in time.
        if self._is_whole:
            return await self._receive()
        seconds = BODY_SECONDS + self._received_bytes / _BYTES_PER_SECOND
        with CancelScope(deadline=self._begin_seconds + seconds):
            return await self._receive()
        self.refusal = RequestTooSlow(seconds=round(seconds))
        return None

    def _count(self, size: int) -> GpusizerError | None:
        # The error of a body with `size` more bytes, or None within the limits.
        if self._received_bytes + size > self._most_bytes:
            return self.too_large
        if size and not self._budget.take(self._visitor, size):
            return ServerBusy(
                retry_after_seconds=RETRY_AFTER_SECONDS[HTTPStatus.SERVICE_UNAVAILABLE]
            )
        self._received_bytes += size
        return None

    def give_back(self) -> None:
        """Stop counting the body's bytes."""
        self._budget.give_back(self._visitor, self._received_bytes)
        self._received_bytes = 0

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if self.refusal is not None and not self.is_answered:
            return
        if message["type"] == "http.response.start":
            self.is_answered = True
            seconds = RETRY_AFTER_SECONDS.get(message["status"])
            if seconds is not None:
                MutableHeaders(scope=message).setdefault("retry-after", str(seconds))
        await self._send(message)
