"""Closed paths: Gradio's routes, endless caches, letters of other scripts."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.routes import App
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from gpusizer.ui.server.doors.closed_routes import is_closed
from gpusizer.ui.server.doors.foreign_sites import ForeignSites

REVIEWED = frozenset(
    {
        # Pages, their files and their description: they are the same for everybody.
        *("/", "/assets/{path}", "/config", "/favicon.ico", "/manifest.json", "/pwa_icon"),
        *("/pwa_icon/{size}", "/robots.txt", "/static/{path}", "/svelte/{path}", "/theme.css"),
        *("/gradio_api/theme.css", "/gradio_api/app_id", "/gradio_api/info"),
        *("/gradio_api/openapi.json", "/gradio_api/startup-events"),
        # Calls: what they take is validated as a request; a caller's event has a random name.
        *("/gradio_api/call/{api_name}", "/gradio_api/call/{api_name}/{event_id}"),
        *("/gradio_api/call/v2/{api_name}", "/gradio_api/call/v2/{api_name}/{event_id}"),
        *("/gradio_api/queue/join", "/gradio_api/queue/status", "/gradio_api/cancel"),
        # Streams of a session, whose name its browser draws at random; and a no-op.
        *("/gradio_api/queue/data", "/gradio_api/heartbeat/{session_hash}", "/gradio_api/reset"),
        # Who is signed in, by the caller's own cookie.
        *("/login", "/logout", "/gradio_api/user", "/gradio_api/token", "/gradio_api/login_check"),
    }
)


@pytest.fixture(scope="module")
async def gradio_routes(anyio_backend: str) -> set[str]:
    """Paths of the routes that Gradio serves for a Blocks, without a slash at their end."""
    with gr.Blocks() as blocks:
        gr.Textbox()
    return {path.rstrip("/") or "/" for path in App.create_app(blocks).openapi()["paths"]}


def test_every_route_is_reviewed_or_closed(gradio_routes: set[str]) -> None:
    assert len(gradio_routes) > 40
    neither = {path for path in gradio_routes - REVIEWED if not is_closed(path)}
    assert neither == set()
    assert {path for path in REVIEWED if is_closed(path)} == set()
    assert REVIEWED - gradio_routes == set(), "Gradio has dropped a route"


@pytest.mark.parametrize("prefix", ["", "/zh", "/below/a/proxy", "/below/a/proxy/pt"])
def test_a_route_is_closed_wherever_it_is_mounted(prefix: str) -> None:
    for path in ("/gradio_api/upload", "/gradio_api/file=/etc/passwd", "/monitoring/summary"):
        assert is_closed(prefix + path)
    for path in ("/", "/v1/size", "/gradio_api/call/size_model", "/gradio_api/queue/data"):
        assert not is_closed(prefix + path)


ROOT = Path(__file__).parents[2]

# cached functions with arguments, and the arguments of the test
OWN_WORDS = {
    "gpusizer.usecases.requests.request_docs.described_fields": "models of requests",
    "gpusizer.usecases.requests.request_docs.described_groups": "models of requests",
    "gpusizer.fit.picture_time._speed": "kinds of denoisers, on fast cards and others",
    "gpusizer.memory.engines.bands.band": "engines, families of their versions, components",
    "gpusizer.memory.quants.recipes._condition": "conditions of the table of recipes",
    "gpusizer.quality.hub_boards.hub_benchmarks": "our own table's folder",
    "gpusizer.ui.page.forms._reader": "fields of requests",
    "gpusizer.ui.presenters.pieces.glossary._spellings": "languages",
    "gpusizer.ui.presenters.pieces.templates._piece": "macros of our own template",
    "gpusizer.core.tables._types": "records of our own tables",
    "gpusizer.text.languages.sentences": "languages",
    "gpusizer.text.notation._dollar": "locales",
    "gpusizer.text.notation._pattern": "two patterns, and as many decimals as are ever written",
    "scrapers.client.http_client._tls_context": "the operator's certificates",
    "scrapers.readme.words._cue": "cues of the table of words",
    "scrapers.readme.words._searches": "cues of the table of words, whose texts are few",
}


def modules() -> Iterator[str]:
    for room in ("gpusizer", "scrapers"):
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if not name.endswith("__main__"):
                yield name.removesuffix(".__init__")


@pytest.fixture(scope="module")
def cached() -> dict[str, Any]:
    """Every function with a cache, by its name."""
    functions = {}
    for name in modules():
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, functools._lru_cache_wrapper):
                functions[f"{value.__module__}.{value.__qualname__}"] = value
    return functions


def test_what_visitors_name_is_kept_up_to_a_bound(cached: dict[str, Any]) -> None:
    endless = {
        name
        for name, function in cached.items()
        if function.cache_parameters()["maxsize"] is None and inspect.signature(function).parameters
    }
    assert len(cached) > 40
    assert endless == set(OWN_WORDS)


def cookies_seen(headers: dict[str, str]) -> dict[str, str]:
    """Return the cookies that the application gets of a request with these headers and a cookie."""

    def cookies(request: Request) -> JSONResponse:
        return JSONResponse(request.cookies)

    app = Starlette(
        routes=[Route("/", cookies)], middleware=[Middleware(ForeignSites, ("own.example",))]
    )
    with TestClient(app) as client:
        answer = client.get("/", headers={"cookie": "session=secret", **headers})
    seen: dict[str, str] = answer.json()
    return seen


@pytest.mark.parametrize("mode", ["cors", "no-cors", "websocket", ""])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "of-tomorrow"])
def test_a_script_of_another_site_asks_anonymously(site: str, mode: str) -> None:
    assert cookies_seen({"sec-fetch-site": site, "sec-fetch-mode": mode}) == {}


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://[", "", "https://testserver:81"]
)
def test_one_in_an_old_browser_does(origin: str) -> None:
    assert cookies_seen({"origin": origin}) == {}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"origin": "https://testserver"},
        {"origin": "https://own.example"},
        {"origin": "https://elsewhere", "sec-fetch-site": "same-origin"},
    ],
)
def test_the_page_and_programs_keep_their_cookies(headers: dict[str, str]) -> None:
    assert cookies_seen(headers) == {"session": "secret"}
