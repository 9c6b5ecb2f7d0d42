"""WithoutForeignCookies: whose cookies reach the application."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from gpusizer.ui.foreign_scripts import WithoutForeignCookies


def cookies_seen(headers: dict[str, str]) -> dict[str, str]:
    """The cookies that the application gets of a request with these headers and a cookie."""

    def cookies(request: Request) -> JSONResponse:
        return JSONResponse(request.cookies)

    app = Starlette(routes=[Route("/", cookies)], middleware=[Middleware(WithoutForeignCookies)])
    with TestClient(app) as client:
        answer = client.get("/", headers={"cookie": "session=secret", **headers})
    seen: dict[str, str] = answer.json()
    return seen


@pytest.mark.parametrize("mode", ["cors", "no-cors", "websocket", ""])
def test_a_script_of_another_site_asks_anonymously(mode: str) -> None:
    assert cookies_seen({"sec-fetch-site": "cross-site", "sec-fetch-mode": mode}) == {}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_the_page_and_programs_keep_their_cookies(headers: dict[str, str]) -> None:
    assert cookies_seen(headers) == {"session": "secret"}
