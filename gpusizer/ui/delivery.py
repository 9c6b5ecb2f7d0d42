"""Delivery: what a browser needs for a page, named early, compressed once, kept for good.

Gradio's page loads its script, which loads others, which load the components' scripts and
stylesheets: four turns to the server before there is a field to type into. Each file is opened
and compressed anew for every visitor, the page itself not at all; and a stylesheet given to
Gradio is sent inside each page and rewritten by the browser, rule by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs

import brotli
import gradio
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.asgi import path_of
from gpusizer.ui.presenters.early import early_html
from gpusizer.ui.presenters.frame import ENDPOINTS_PATH, LOCALES
from gpusizer.ui.presenters.html import el
from gpusizer.ui.presenters.words import Words

ASSETS = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
PRELOADS = Path(__file__).with_name("preloads.txt")
"""The files of Gradio that a first visit fetches, as `python -m scripts.preloads` saw it."""
STYLE = Path(__file__).with_name("style.css")
STYLE_NAME = "gpusizer.css"

_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_LARGEST = 300_000  # bytes: more would hold everybody else up while it is compressed
_KEEP = "public, max-age=31536000, immutable"  # addresses change with the content
_BEFORE = b'<meta charset="utf-8" />'
_LOCALE = b'lang="en"'
_GRADIO = b"<gradio-app"
_ASKING = frozenset({"model", "gpus", "gpu", "tab"})
_QUALITY = 5  # of 11: what Gradio's own takes, and one more

Answer = tuple[Mapping[str, str], bytes]
"""Headers and body."""


class Assets:
    """ASGI middleware: scripts and stylesheets, each read and compressed once."""

    def __init__(self, app: ASGIApp, files: Mapping[str, Path]) -> None:
        self._app = app
        self._files = files
        self._kept: dict[tuple[str, bool], Answer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for a known file; anything else is the next one's."""
        path = path_of(scope, "GET")
        if path not in self._files:
            await self._app(scope, receive, send)
            return
        key = path, _understands_brotli(scope)
        if key not in self._kept:
            self._kept[key] = _answer(self._files[path], compressed=key[1])
        headers, body = self._kept[key]
        start = {"type": "http.response.start", "status": 200, "headers": Headers(headers).raw}
        await send(start)
        await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True)
class Additions:
    """Into the head of a page; before Gradio's element, where the address asks for nothing."""

    head: bytes
    early: bytes = b""
    locale: str = "en"

    def to(self, page: bytes, *, asks: bool) -> bytes:
        """The page with them."""
        page = page.replace(_LOCALE, f'lang="{self.locale}"'.encode(), 1)
        page = page.replace(_BEFORE, _BEFORE + self.head, 1)
        return page if asks else page.replace(_GRADIO, self.early + _GRADIO, 1)


class Pages:
    """ASGI middleware: pages with what we add, in one compressed piece."""

    def __init__(self, app: ASGIApp, additions: Mapping[str, Additions]) -> None:
        """`additions`: to the page at each path."""
        self._app = app
        self._additions = additions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Change what answers a page's address; anything else passes."""
        added = self._additions.get(path_of(scope, "GET"))
        if added is None:
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
                await send_whole(added.to(bytes(body), asks=_asks(scope)))

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
    style = style_link()
    first, *others = LANGUAGES
    pages = {"/": _page(first, style), **{f"/{one}": _page(one, style) for one in others}}
    return [
        Middleware(
            Pages,
            additions={**pages, f"/{ENDPOINTS_PATH}": Additions(_title(Words(first)) + style)},
        ),
        Middleware(Assets, files={**asset_files(ASSETS), f"/{STYLE_NAME}": STYLE}),
    ]


def _page(language: Language, style: bytes) -> Additions:
    words = Words(language)
    head = _title(words) + style + preload_markup(preloads())
    return Additions(head, early_html(words).encode(), LOCALES[language])


def _title(words: Words) -> bytes:
    return el("title", words("document_title")).encode()


def style_link() -> bytes:
    """Our own stylesheet, under an address that changes with it."""
    version = sha256(STYLE.read_bytes()).hexdigest()[:12]
    return f'<link rel="stylesheet" href="./{STYLE_NAME}?v={version}">'.encode()


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


def asset_files(folder: Path) -> dict[str, Path]:
    """The scripts and stylesheets of a folder by their address, but for very large ones."""
    return {
        f"/assets/{path.name}": path
        for path in folder.iterdir()
        if path.suffix in _TYPES and path.stat().st_size <= _LARGEST
    }


def _answer(path: Path, *, compressed: bool) -> Answer:
    body = path.read_bytes()
    headers = {"content-type": _TYPES[path.suffix], "cache-control": _KEEP}
    if compressed:
        body = brotli.compress(body, quality=_QUALITY)
        headers["content-encoding"] = "br"
    return {**headers, "content-length": str(len(body)), "vary": "Accept-Encoding"}, body


def _asks(scope: Scope) -> bool:
    """Whether the address asks for anything, which then fills the page's own fields."""
    return not _ASKING.isdisjoint(parse_qs(scope["query_string"].decode("latin-1")))


def _understands_brotli(scope: Scope) -> bool:
    accepted = Headers(scope=scope).get("accept-encoding", "").split(",")
    return any(one.partition(";")[0].strip() == "br" for one in accepted)
