"""ForeignSites: middleware that makes scripts of other sites anonymous in a visitor's browser.

On a public host Gradio (6.31, CustomCORSMiddleware) lets every origin read answers with
credentials, and the cookie of its sign-in is sent across sites (`SameSite=None`), because Spaces
are shown in a frame. Another site's page could otherwise read with its visitors' rights.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# values of `Sec-Fetch-Site` for our own pages, and for a visitor's direct action
_OWN_SITES = frozenset({"same-origin", "none"})
_NAVIGATION = "navigate"
_READING = frozenset({"GET", "HEAD"})
_CREDENTIALS = "access-control-allow-credentials"


class ForeignSites:
    """ASGI middleware that drops cookies of requests from scripts of other sites.

    It also lets no site read answers with credentials. It has to be outside of Gradio's own
    middleware, which reads the cookie into a session.
    """

    def __init__(self, app: ASGIApp, own_hosts: Sequence[str] = ()) -> None:
        """Keep the names of this server; `own_hosts` are further ones."""
        self._app = app
        self._own_hosts = frozenset(own_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, without its cookies if a script of another site sends it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if self._is_foreign_script(scope):
            headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
            scope = {**scope, "headers": headers}

        async def without_credentials(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                del MutableHeaders(scope=message)[_CREDENTIALS]
            await send(message)

        await self._app(scope, receive, without_credentials)

    def _is_foreign_script(self, scope: Scope) -> bool:
        # A script or form of another site: browsers mark it in `Sec-Fetch-Site` and
        # `Sec-Fetch-Mode`, which scripts cannot set (https://www.w3.org/TR/fetch-metadata/), older
        # ones in `Origin`. A request without either is a program's. Navigation keeps its cookies: a
        # frame is opened and a sign-in returns across sites.
        headers = Headers(scope=scope)
        site = headers.get("sec-fetch-site")
        if site is not None:
            is_navigation = headers.get("sec-fetch-mode") == _NAVIGATION
            return site not in _OWN_SITES and not (
                is_navigation and scope.get("method") in _READING
            )
        origin = headers.get("origin")
        return origin is not None and self._is_foreign(origin, headers)

    def _is_foreign(self, origin: str, headers: Headers) -> bool:
        try:
            host = urlsplit(origin).netloc
        except ValueError:
            return True
        asked = {headers.get("host"), headers.get("x-forwarded-host")}
        return host not in asked and host not in self._own_hosts
