"""WithoutForeignCookies: a script of another site asks anonymously, whoever runs it.

On a public host Gradio (6.31, CustomCORSMiddleware) lets every origin read answers with
credentials, and the cookie of its sign-in is sent across sites (`SameSite=None`), because Spaces
are shown in a frame. A page elsewhere could so read with the rights of whoever visits it.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

_CROSS_SITE = "cross-site"
_NAVIGATION = "navigate"


class WithoutForeignCookies:
    """ASGI middleware that drops the cookies of requests which scripts of other sites send.

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
            scope = {**scope, "headers": headers}
        await self._app(scope, receive, send)


def _is_foreign_script(headers: Headers) -> bool:
    is_cross_site = headers.get("sec-fetch-site", "") == _CROSS_SITE
    return is_cross_site and headers.get("sec-fetch-mode", "") != _NAVIGATION
