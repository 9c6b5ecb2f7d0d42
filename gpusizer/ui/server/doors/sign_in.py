"""SignIn: middleware for failed sign-ins at the Hub.

If a visitor declines, the Hub fails or an address is made up, Gradio 6.31 and authlib raise an
error, whose traceback of 6 kB is logged (`_add_oauth_routes` in gradio/oauth.py).
"""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.core.errors import SignInFailed
from gpusizer.ui.presenters.pieces.addresses import PAGE_PATHS
from gpusizer.ui.presenters.pieces.frame import ENDPOINTS_PATH
from gpusizer.ui.server.doors.refusals import refused

_CALLBACK = "/login/callback"
_PATHS = frozenset({"/login/huggingface", _CALLBACK})
_TARGETS = frozenset({*PAGE_PATHS.values(), f"/{ENDPOINTS_PATH}"})
_COUNT = "_nb_redirects"

_log = logging.getLogger(__name__)


class SignIn:
    """ASGI middleware that answers failed sign-ins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; after a declined sign-in redirect to the page."""
        if scope["type"] != "http" or scope["path"] not in _PATHS:
            await self._app(scope, receive, send)
            return
        query = Request(scope).query_params
        if scope["path"] == _CALLBACK and "error" in query:
            await RedirectResponse(_target(query))(scope, receive, send)
            return
        if not query.get(_COUNT, "0").isdecimal():
            scope = {**scope, "query_string": scope["query_string"] + f"&{_COUNT}=0".encode()}
        await self._signing_in(scope, receive, send)

    async def _signing_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_answered = False

        async def noting(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            # Its text may hold secrets of the Hub and the visitor.
            _log.warning("signing in failed: %s", type(error).__name__)
            if not is_answered:
                await refused(scope, SignInFailed())(scope, receive, send)


def _target(query: QueryParams) -> str:
    # The page on which a visitor began to sign in.
    try:
        path = urlsplit(query.get("_target_url", "")).path
    except ValueError:
        path = ""
    return path if path in _TARGETS else PAGE_PATHS["en"]
