"""VisitorLimits: the middleware around the application."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from gpusizer.core.settings import Settings
from gpusizer.ui.visitor_limits import VisitorLimits
from tests.coroutines import run_in_thread


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("answered")(scope, receive, send)


def statuses(settings: Settings, scopes: list[dict[str, Any]]) -> list[int]:
    """The status of each of some requests, sent one after another."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        limited = VisitorLimits(application, settings)
        for scope in scopes:
            await limited(scope, receive, send)

    run_in_thread(ask())
    return [message["status"] for message in sent if message["type"] == "http.response.start"]


def request(
    path: str = "/v1/size", forwarded: str | None = None, user: str | None = None
) -> dict[str, Any]:
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    session = {} if user is None else {"oauth_info": {"userinfo": {"sub": user}}}
    return {**scope, "client": ("198.51.100.9", 1), "session": session}


def test_questions_past_the_limit_are_refused_and_nothing_else() -> None:
    requests = [request(), request(), request(), request("/healthz"), request("/")]
    assert statuses(Settings(questions_per_minute=2), requests) == [200, 200, 429, 200, 200]


def test_a_header_of_a_caller_buys_no_questions() -> None:
    requests = [request(forwarded=f"203.0.113.{number}") for number in range(3)]
    assert statuses(Settings(questions_per_minute=2), requests) == [200, 200, 429]
    trusting = Settings(questions_per_minute=2, trusted_proxies=1)
    assert statuses(trusting, requests) == [200, 200, 200]
    forged = [request(forwarded=f"203.0.113.{number}, 192.0.2.1") for number in range(3)]
    assert statuses(trusting, forged) == [200, 200, 429]


def test_users_behind_one_address_have_limits_of_their_own() -> None:
    requests = [request(user=user) for user in ("me", "me", "you", "me")]
    assert statuses(Settings(questions_per_minute=2), requests) == [200, 200, 200, 429]


def test_without_a_limit_nobody_is_refused() -> None:
    assert statuses(Settings(questions_per_minute=None), [request()] * 400) == [200] * 400


def test_an_unnamed_proxy_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    requests = [request(), *[request(forwarded="203.0.113.7")] * 3]
    statuses(Settings(), requests)
    lines = [record.message for record in caplog.records]
    assert len(lines) == 1 and "GPUSIZER_TRUSTED_PROXIES" in lines[0]
    assert "203.0.113.7" not in caplog.text
    caplog.clear()
    statuses(Settings(trusted_proxies=1), requests)
    assert caplog.records == []
