"""OwnAddress: middleware that keeps only trustworthy headers about this server's address.

Gradio 6.31 writes the address into pages, and their script calls it (`get_root_url` in
gradio/route_utils.py).
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.core.settings import Settings
from gpusizer.ui.presenters.pieces.frame import ENDPOINTS_PATH
from gpusizer.ui.server.doors.gradio_paths import ENDPOINTS, GradioPath, gradio_path

_HOST, _FORWARDED_HOST = "host", "x-forwarded-host"
_NEVER = "x-gradio-server"  # set by a server of Node before Gradio, which is not used
_DESCRIPTION = GradioPath(ENDPOINTS, "info")
_OF_PAGE = f"&page={ENDPOINTS_PATH}".encode()


class OwnAddress:
    """ASGI middleware that gives pages no address other than this server's.

    Without trusted proxies `X-Forwarded-Host` is dropped. On a Space the Hub states its hosts: any
    other name is replaced by the first of these.

    Gradio caches its first description of all endpoints, with the address of that request in it.
    The description of a page is made for each request, and all endpoints are on one page.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._believes_proxies = settings.trusted_proxies > 0
        self._hosts = settings.space_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with trustworthy headers."""
        if scope["type"] in ("http", "websocket"):
            scope = {**scope, "headers": self._believed(scope)}
            if gradio_path(scope["path"]) == _DESCRIPTION:
                # Of a parameter that is repeated FastAPI takes the last.
                scope["query_string"] += _OF_PAGE
        await self._app(scope, receive, send)

    def _believed(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        dropped = {_NEVER.encode()}
        if self._hosts or not self._believes_proxies:
            dropped.add(_FORWARDED_HOST.encode())
        kept = [(name, value) for name, value in scope["headers"] if name not in dropped]
        if not self._hosts:
            return kept
        host = self._space_host(Headers(scope=scope)).encode("latin-1")
        return [(_HOST.encode(), host), *(pair for pair in kept if pair[0] != _HOST.encode())]

    def _space_host(self, headers: Headers) -> str:
        # The host that the visitor sees, one of the Space's.
        forwarded = headers.get(_FORWARDED_HOST, "").partition(",")[0].strip()
        named = (name for name in (forwarded, headers.get(_HOST, "")) if name in self._hosts)
        return next(named, self._hosts[0])
