"""AnswerHeaders: what browsers and caches are told of every answer."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.core.tables import toml_of

_HEADERS: Mapping[str, Mapping[str, str]] = toml_of(__file__)
"""By the media type of an answer; of "any" for all."""
_ANY = "any"


class AnswerHeaders:
    """ASGI middleware that adds the headers of a table to answers without them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                media_type = headers.get("content-type", "").partition(";")[0]
                for kind in (_ANY, media_type):
                    for name, value in _HEADERS.get(kind, {}).items():
                        headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)
