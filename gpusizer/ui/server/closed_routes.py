"""What nobody may reach: public routes of Gradio that nothing here uses, answered as if they did
not exist, and answers to scripts of other sites with a visitor's rights.

Gradio (6.31, gradio/routes.py) serves them for every Blocks, whatever its components are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.middleware.sessions import Session
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.core.tables import toml_of

CLOSED: Sequence[str] = toml_of(__file__)["closed"]
"""Beginnings of routes below `/gradio_api/`."""
_OWN_SITES = ("same-origin", "none")
"""Values of `Sec-Fetch-Site` of our own pages, and of what a visitor does in the browser itself."""
_NAVIGATION = "navigate"
_PATTERN = re.compile(
    rf"/gradio_api/(?:{'|'.join(map(re.escape, CLOSED))})|(?:^|/)(?:deep_link|monitoring)(?:/|$)"
)


def is_closed(path: str) -> bool:
    """Whether a path is one of these routes, of any page and below any prefix of a proxy.

    >>> is_closed("/gradio_api/upload"), is_closed("/zh/monitoring/summary"), is_closed("/zh")
    (True, True, False)
    """
    return _PATTERN.search(path) is not None


class ClosedRoutes:
    """ASGI middleware that answers 404 for closed routes, as Gradio does for unknown ones."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on unless its route is closed."""
        if scope["type"] == "http" and is_closed(scope["path"]):
            refusal = JSONResponse({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


class WithoutForeignCookies:
    """ASGI middleware that drops the cookies and the session of requests which scripts of other
    sites send: these ask anonymously, whoever runs them.

    On a public host Gradio (6.31, CustomCORSMiddleware) lets every origin read answers with
    credentials, and the cookie of its sign-in is sent across sites (`SameSite=None`), because
    Spaces are shown in a frame. A page elsewhere could so read with the rights of whoever visits.

    Browsers say so in `Sec-Fetch-Site` and `Sec-Fetch-Mode`, which scripts cannot set
    (https://www.w3.org/TR/fetch-metadata/). Navigation keeps its cookies: a frame is opened and a
    sign-in returns across sites.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and _is_foreign_script(Headers(scope=scope)):
            headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
            # Where Gradio offers sign-in, its SessionMiddleware has read the cookie by now: it adds
            # itself outside of every middleware that it is given.
            scope = {**scope, "headers": headers, "session": Session()}
        await self._app(scope, receive, send)


def _is_foreign_script(headers: Headers) -> bool:
    is_foreign = headers.get("sec-fetch-site", "same-origin") not in _OWN_SITES
    return is_foreign and headers.get("sec-fetch-mode", "") != _NAVIGATION
