"""Gradio's server with the endpoints at its root and the pages next to them.

/, /zh, /pt          the pages; `lang` in an address leads to one of these
/en/, /zh/, /pt/     below these, events and files of the pages
/gradio_api/         the public endpoints over HTTP and for gradio_client; MCP
/endpoints           Gradio's own description of the endpoints
/v1/                 questions over plain HTTP, without a session, and badges
/llms.txt, /healthz  for programs
/metrics             for Prometheus, if the settings enable it
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from typing import Any

import gradio as gr
from anyio import to_thread
from fastapi import FastAPI
from gradio.routes import App
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.core.proxies import without_proxies
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui import Application
from gpusizer.ui.page.page_scripts import HEAD, STYLE
from gpusizer.ui.page.sessions import keep_less
from gpusizer.ui.page.tabs.tab_fields import Listeners
from gpusizer.ui.presenters.badge import PATH as BADGE_PATH
from gpusizer.ui.presenters.pieces.addresses import PAGE_PATHS, PATHS
from gpusizer.ui.server.badge_route import badge_route
from gpusizer.ui.server.doors.answer_headers import AnswerHeaders
from gpusizer.ui.server.doors.checked_calls import CheckedCalls, held_bytes
from gpusizer.ui.server.doors.closed_routes import ClosedRoutes
from gpusizer.ui.server.doors.event_streams import KnownStreams
from gpusizer.ui.server.doors.foreign_sites import ForeignSites
from gpusizer.ui.server.doors.gradio_paths import ENDPOINTS
from gpusizer.ui.server.doors.open_streams import OpenStreams
from gpusizer.ui.server.doors.own_address import OwnAddress
from gpusizer.ui.server.doors.request_limits import RequestLimits
from gpusizer.ui.server.doors.sign_in import SignIn
from gpusizer.ui.server.doors.slow_readers import SlowReaders, close_unread
from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.health import health_json
from gpusizer.ui.server.http_api import PATH, http_api
from gpusizer.ui.server.http_status import NOT_KEPT
from gpusizer.ui.server.llms import llms_text
from gpusizer.ui.server.observation import Observation
from gpusizer.ui.server.question_counter import QuestionCounter
from gpusizer.ui.server.tools import JsonTools
from gpusizer.ui.server.visitor_limits import VisitorLimits
from gpusizer.ui.server.work_pool import PLACES

# Cache-Control of the stylesheet, whose address contains a hash of its content
_FOREVER = "public, max-age=31536000, immutable"
_MOVED_PERMANENTLY = 301
_FONTS = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans CJK SC",
    "sans-serif",
)
_MONO = ("ui-monospace", "SF Mono", "Menlo", "Consolas", "Liberation Mono", "monospace")

# Lifetime of an idle connection. uvicorn closes it after five seconds, and a request that is sent
# in that moment is lost; nginx and browsers keep theirs for a minute and close them first.
_KEEP_ALIVE_SECONDS = 75

# Sessions that Gradio keeps of each page and of the endpoints: as many as it answers at once. A
# call over HTTP is a session, too. It has no state: the question is in the browser, and a dropped
# session is made again.
_SESSIONS = PLACES


def page_options() -> dict[str, Any]:
    """Return options of `launch` and `mount_gradio_app`: no uploads, no telemetry, no Node."""
    return {
        "theme": gr.themes.Base(
            primary_hue="indigo", neutral_hue="slate", font=_FONTS, font_mono=_MONO
        ),
        # Gradio's script rewrites a stylesheet in `css` rule by rule, which takes 0.5 seconds.
        "head": f'<link rel="stylesheet" href="{STYLE.name}?v={_style_version()}">' + HEAD,
        "ssr_mode": False,
        "run_history": False,
        "enable_monitoring": False,
        "max_file_size": "1mb",
        "footer_links": ["api", "settings"],
        "show_error": False,
    }


def launch(application: Application, counter: QuestionCounter | None = None, **options: Any) -> str:
    """Start to serve in the background and return the local address.

    `counter` counts the questions of visitors, by default in this process alone; `options` override
    the application's own options of Gradio's `launch`. Raises OSError if no port can be taken.
    """
    endpoints = application.endpoints
    # Gradio 6.31 makes an MCP server of its own class in `launch` and takes no other: these two
    # attributes, by which it serves and describes that one, have no public counterpart.
    endpoints.mcp_server = True
    endpoints.mcp_server_obj = tools = JsonTools(endpoints)
    pages = FastAPI(openapi_url=None)
    routes = [
        route
        for language, blocks in application.pages.items()
        for route in _page_routes(pages, blocks, language)
    ]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        stack = app.middleware_stack or app.build_middleware_stack()
        app.middleware_stack = _before_gradio(stack, application)
        async with tools.lifespan(app), pages.router.lifespan_context(pages):
            yield

    app_options = {
        "routes": [*_file_routes(endpoints), *_program_routes(application), *routes],
        "middleware": _doors(application, counter),
        "lifespan": lifespan,
    }
    _watch(application)
    # uvicorn would believe X-Forwarded-For of every proxy on this machine, and hide the proxy.
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")
    # Gradio asks its own server for `startup-events`.
    with without_proxies():
        app, url, _ = endpoints.launch(
            prevent_thread_lock=True,
            mcp_server=False,  # `tools` is the MCP server
            state_session_capacity=_SESSIONS,
            app_kwargs=app_options,
            **{**page_options(), **options},
        )
    keep_less(app, endpoints)
    assert endpoints.server is not None
    endpoints.server.config.timeout_keep_alive = _KEEP_ALIVE_SECONDS
    servers = endpoints.server.servers
    close_unread(socket for server in servers for socket in server.sockets)
    return str(url)


def drain(application: Application, seconds: float) -> None:
    """Take no more requests, and wait at most `seconds` for the answers under way."""
    server = getattr(application.endpoints, "server", None)  # missing before `launch` has made it
    if server is not None:
        for blocks in (application.endpoints, *application.pages.values()):
            blocks.app.stop_event.set()  # ends the heartbeats of open pages
        server.should_exit = True
        server.thread.join(seconds)


def _doors(application: Application, counter: QuestionCounter | None) -> list[Middleware]:
    # Middleware inside of Gradio's own, the outermost first.
    settings, pool = application.monitor.settings, application.answers.pool
    blocks = {str(language): page for language, page in application.pages.items()}
    blocks[ENDPOINTS] = application.endpoints
    takes_logs = {Listeners(language)("log")["api_name"] for language in application.pages}
    return [
        Middleware(RequestLimits, settings, partial(held_bytes, blocks)),
        Middleware(ClosedRoutes),
        Middleware(KnownStreams, blocks),
        Middleware(VisitorLimits, settings=settings, pool=pool, counter=counter),
        Middleware(OpenStreams, settings),
        Middleware(CheckedCalls, blocks, takes_logs),
        Middleware(SignIn),
    ]


def _before_gradio(app: ASGIApp, application: Application) -> ASGIApp:
    # Doors outside of Gradio's own middleware, which it adds before any that it is given: the one
    # that reads cookies, and the one that lets other origins read answers.
    settings = application.monitor.settings
    app = ForeignSites(app, settings.space_hosts)
    app = AnswerHeaders(OwnAddress(app, settings))
    return SlowReaders(Observation(app, application.monitor.metrics))


class PagePath:
    """ASGI middleware that removes the mount's path from a request to a page's Blocks.

    Starlette's Mount does the same, but expects that a reverse proxy which serves us below a path
    leaves that path in its requests; many proxies remove it.

    Gradio 6.31 looks for the page within its Blocks that `page` of the query names, and fails for
    any other (`main` in gradio/routes.py); of a repeated parameter it takes the last.
    """

    def __init__(self, page: ASGIApp) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the path after the mount, "/" for the page itself."""
        path = "/" + scope["path_params"].get("path", "")
        if path == "/":
            scope = {**scope, "query_string": scope["query_string"] + b"&page="}
        await self._page({**scope, "path": path}, receive, send)


class AskedLanguage:
    """ASGI middleware that redirects from a page to the one in the language of `lang`.

    The target is relative, as the links of the header are: a proxy may serve us below a path.
    """

    def __init__(self, page: ASGIApp, language: Language) -> None:
        self._page = page
        self._language = language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect a request for another language, without `lang`; pass on any other."""
        stated = scope["query_string"].decode("latin-1").split("&")
        named = [text for text in stated if text.startswith("lang=")]
        word = named[-1].removeprefix("lang=").lower().partition("-")[0] if named else ""
        asked = next((language for language in LANGUAGES if language == word), self._language)
        page = self._page
        if asked != self._language:
            question = "&".join(text for text in stated if text not in named)
            page = RedirectResponse(f"{PATHS[asked]}?{question}".rstrip("?"))
        await page(scope, receive, send)


def _page_routes(pages: FastAPI, blocks: gr.Blocks, language: Language) -> list[Route]:
    # In the browser's address, Gradio's script reads the part after the mount's path as the name of
    # a page within the Blocks. So `/zh` is mounted at `/zh`, and the English page, whose address is
    # `/`, at `/en`.
    mount_path, page_path = f"/{language}", PAGE_PATHS[language]
    blocks.state_session_capacity = _SESSIONS
    # Behind a reverse proxy that serves us below a path, Gradio's root_path holds that path.
    root_path = blocks.root_path + mount_path
    gr.mount_gradio_app(pages, blocks, mount_path, root_path=root_path, **page_options())
    app: Any
    (app,) = (
        route.app for route in pages.routes if isinstance(route, Mount) and route.path == mount_path
    )
    assert isinstance(app, App)
    blocks.app = app  # the one that serves; `drain` ends its heartbeats
    keep_less(app, blocks)

    def redirect(request: Request) -> RedirectResponse:
        # to the address without a slash
        question = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(page_path + question, _MOVED_PERMANENTLY)

    return [
        Route(page_path, AskedLanguage(GZipMiddleware(PagePath(app)), language)),
        Route(f"{mount_path}/", redirect),
        Route(mount_path + "/{path:path}", PagePath(app)),
    ]


def _style_version() -> str:
    return sha256(STYLE.read_bytes()).hexdigest()[:12]


def _file_routes(endpoints: gr.Blocks) -> list[Route]:
    def style(_: Request) -> FileResponse:
        return FileResponse(STYLE, headers={"cache-control": _FOREVER})

    def llms(_: Request) -> PlainTextResponse:
        return PlainTextResponse(llms_text(endpoints))

    return [Route(f"/{STYLE.name}", style), Route("/llms.txt", llms)]


def _program_routes(application: Application) -> list[BaseRoute]:
    # Metrics only if the settings enable them.
    answers, monitor = application.answers, application.monitor
    api = http_api(answers, PUBLIC, monitor.metrics)
    badge = Route(BADGE_PATH, badge_route(answers, monitor.metrics))

    async def health(_: Request) -> JSONResponse:
        body = await to_thread.run_sync(health_json, answers.cache, monitor)
        return JSONResponse(body, headers={"cache-control": NOT_KEPT})

    async def metrics(_: Request) -> Response:
        return Response(monitor.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    routes: list[BaseRoute] = [badge, Mount(PATH, api), Route("/healthz", health)]
    return [*routes, Route("/metrics", metrics)] if monitor.settings.metrics else routes


def _watch(application: Application) -> None:
    # Sessions of each page and of the endpoints, and unread answers.
    def watch(name: str, blocks: gr.Blocks) -> None:
        # Gradio makes the holder of sessions when it launches.
        application.monitor.metrics.watch_sessions(
            name, lambda: len(blocks.state_holder.session_data)
        )

    for language, blocks in application.pages.items():
        watch(language, blocks)
    watch("endpoints", application.endpoints)
    application.monitor.metrics.watch_unread(lambda: application.unread.size_bytes)
