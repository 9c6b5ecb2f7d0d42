"""AnswerHeaders: headers of every answer for browsers and caches."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ANY = "any"

# headers by media type for answers that lack them; "any" for all
_HEADERS: Mapping[str, Mapping[str, str]] = {
    # Addresses of pages name models, which may be private: other sites receive none.
    _ANY: {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"},
    # docs/embedding.md lets every site show pages in a frame. Gradio's pages have scripts inside
    # and evaluate listeners' own, so that scripts are not restricted.
    "text/html": {
        "cache-control": "no-cache",
        "content-security-policy": (
            "base-uri 'self'; form-action 'self'; frame-ancestors *; object-src 'none'"
        ),
    },
    # Descriptions of pages and endpoints hold the address that they were asked at.
    "application/json": {"cache-control": "no-cache"},
    "text/event-stream": {"cache-control": "no-store"},
}


class AnswerHeaders:
    """ASGI middleware that adds the headers of a table to answers without them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add headers to its answer."""

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
