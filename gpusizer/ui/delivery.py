"""Delivery: what a browser needs for a page, named early, compressed once, kept for good.

Gradio's page loads its script, which loads others, which load the components' scripts and
stylesheets: four turns to the server before there is a field to type into. Each file is opened
and compressed anew for every visitor, the page itself not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import brotli
import gradio
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.text import LANGUAGES

ASSETS = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
PRELOADS = Path(__file__).with_name("preloads.txt")
"""The files of Gradio that a first visit fetches, as `python -m scripts.preloads` saw it."""

_PAGES = frozenset({"/", *(f"/{language}" for language in LANGUAGES)})
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_LARGEST = 300_000  # bytes: more would hold everybody else up while it is compressed
_KEEP = "public, max-age=31536000, immutable"  # names change with their content
_BEFORE = b'<meta charset="utf-8" />'
_QUALITY = 5  # of 11: what Gradio's own takes, and one more


class Assets:
    """ASGI middleware: scripts and stylesheets of Gradio, each read and compressed once."""

    def __init__(self, app: ASGIApp, folder: Path = ASSETS) -> None:
        self._app = app
        self._files = {f"/assets/{path.name}": path for path in _small(folder)}
        self._kept: dict[str, tuple[Mapping[str, str], bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for a known file where brotli is understood; anything else is the next one's."""
        path = _path(scope)
        if path not in self._files or not _understands_brotli(scope):
            await self._app(scope, receive, send)
            return
        if path not in self._kept:
            self._kept[path] = _compressed(self._files[path])
        headers, body = self._kept[path]
        raw = Headers(headers).raw
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        await send({"type": "http.response.body", "body": body})


class Pages:
    """ASGI middleware: pages that name their files at once, in one compressed piece."""

    def __init__(self, app: ASGIApp, markup: bytes) -> None:
        self._app = app
        self._markup = _BEFORE + markup

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Change what answers a page's address; anything else passes."""
        if _path(scope) not in _PAGES:
            await self._app(scope, receive, send)
            return
        body = bytearray()
        start: Message = {}

        async def gather(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await send_whole(bytes(body).replace(_BEFORE, self._markup, 1))

        async def send_whole(page: bytes) -> None:
            headers = MutableHeaders(raw=list(start["headers"]))
            if _understands_brotli(scope):
                page = brotli.compress(page, quality=_QUALITY)
                headers["content-encoding"] = "br"
            headers.add_vary_header("Accept-Encoding")
            headers["content-length"] = str(len(page))
            await send({**start, "headers": headers.raw})
            await send({"type": "http.response.body", "body": page})

        await self._app(scope, receive, gather)


def middleware() -> list[Middleware]:
    """Both, for the application that Gradio makes."""
    return [Middleware(Pages, markup=preload_markup(preloads())), Middleware(Assets)]


@cache
def preloads() -> tuple[str, ...]:
    """Names of the files that a first visit needs, as far as this Gradio has them."""
    names = PRELOADS.read_text(encoding="utf-8").split()
    return tuple(name for name in names if (ASSETS / name).is_file())


def preload_markup(names: Iterable[str]) -> bytes:
    """Links that let the browser fetch all of them while it still reads the page."""
    return "".join(map(_link, names)).encode()


def _link(name: str) -> str:
    kind = 'rel="modulepreload"' if name.endswith(".js") else 'rel="preload" as="style"'
    return f'<link {kind} crossorigin href="./assets/{name}">'


def _small(folder: Path) -> Iterable[Path]:
    return (
        path
        for path in folder.iterdir()
        if path.suffix in _TYPES and path.stat().st_size <= _LARGEST
    )


def _compressed(path: Path) -> tuple[Mapping[str, str], bytes]:
    body = brotli.compress(path.read_bytes(), quality=_QUALITY)
    return {
        "content-type": _TYPES[path.suffix],
        "content-encoding": "br",
        "content-length": str(len(body)),
        "cache-control": _KEEP,
        "vary": "Accept-Encoding",
    }, body


def _path(scope: Scope) -> str:
    """Path of a GET below the root of the application; "" for anything else."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return ""
    return str(scope["path"]).removeprefix(scope.get("root_path", "").rstrip("/"))


def _understands_brotli(scope: Scope) -> bool:
    return "br" in Headers(scope=scope).get("accept-encoding", "")
