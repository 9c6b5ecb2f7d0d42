"""VisitorLimits: whose questions are refused, why, and until when."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from contextvars import copy_context
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from gpusizer.core.cpu_limiter import VISITOR, CpuLimiter
from gpusizer.core.settings import Settings
from gpusizer.ui.server.asker import asker_of
from gpusizer.ui.server.question_counter import QuestionCounter, key_of
from gpusizer.ui.server.visitor_limits import VisitorLimits
from gpusizer.ui.server.work_pool import WorkPool
from tests.clock import Clock

pytestmark = pytest.mark.anyio


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the key of who asks."""
    await PlainTextResponse(asker_of(HTTPConnection(scope)) or "")(scope, receive, send)


async def statuses(settings: Settings, scopes: list[dict[str, Any]], **answering: Any) -> list[int]:
    """Return the status of each of some requests, sent one after another."""
    return [
        message["status"]
        for message in await answered(settings, scopes, **answering)
        if message["type"] == "http.response.start"
    ]


async def answered(
    settings: Settings, scopes: list[dict[str, Any]], **answering: Any
) -> list[Message]:
    """Return the messages that answer some requests, sent one after another."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    limited = VisitorLimits(application, settings, **answering)
    for scope in scopes:
        await limited(scope, receive, send)
    return sent


def request(
    path: str = "/v1/size", forwarded: str | None = None, user: str | None = None
) -> dict[str, Any]:
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    session = {} if user is None else {"oauth_info": {"userinfo": {"sub": user}}}
    return {**scope, "client": ("198.51.100.9", 1), "session": session}


async def test_questions_past_the_limit_are_refused_and_nothing_else() -> None:
    requests = [request(), request(), request(), request("/healthz"), request("/")]
    assert await statuses(Settings(questions_per_minute=2), requests) == [200, 200, 429, 200, 200]


async def test_a_header_of_a_caller_buys_no_questions() -> None:
    requests = [request(forwarded=f"203.0.113.{number}") for number in range(3)]
    assert await statuses(Settings(questions_per_minute=2), requests) == [200, 200, 429]
    trusting = Settings(questions_per_minute=2, trusted_proxies=1)
    assert await statuses(trusting, requests) == [200, 200, 200]
    forged = [request(forwarded=f"203.0.113.{number}, 192.0.2.1") for number in range(3)]
    assert await statuses(trusting, forged) == [200, 200, 429]


async def test_users_behind_one_address_have_limits_of_their_own() -> None:
    requests = [request(user=user) for user in ("me", "me", "you", "me")]
    assert await statuses(Settings(questions_per_minute=2), requests) == [200, 200, 200, 429]


async def test_without_a_limit_nobody_is_refused() -> None:
    assert await statuses(Settings(questions_per_minute=None), [request()] * 400) == [200] * 400


async def bodies(settings: Settings, scopes: list[dict[str, Any]]) -> list[str]:
    return [
        message["body"].decode()
        for message in await answered(settings, scopes)
        if message["type"] == "http.response.body"
    ]


async def test_every_request_says_whose_it_is_and_no_address() -> None:
    requests = [request(), request("/"), request(user="me"), request(user="you")]
    keys = await bodies(Settings(), requests)
    assert keys[0] == keys[1] and len({*keys}) == 3
    assert all(len(key) == 32 and "198" not in key and "me" not in key for key in keys)


async def test_where_no_visitor_has_a_limit_none_is_told_from_others() -> None:
    unlimited = Settings(questions_per_minute=None, seconds_per_minute=None)
    assert await bodies(unlimited, [request(), request(user="me")]) == ["", ""]


async def test_whoever_has_used_the_seconds_of_a_minute_is_refused_until_some_are_past() -> None:
    clock, used = Clock(), [0.0]
    turns = CpuLimiter(1, 1, clock=clock, processor=lambda: used[0])

    def spend(user: str, seconds: float) -> None:
        VISITOR.set(key_of(f"user {user}"))
        with turns.computing():
            used[0] += seconds

    async def asked_by(*users: str) -> list[int]:
        return await statuses(settings, [request(user=user) for user in users], turns=turns)

    settings = Settings(seconds_per_minute=10, questions_per_minute=None)
    context = copy_context()
    context.run(spend, "me", 9.0)
    assert await asked_by("me", "you") == [200, 200]
    clock.now += 20.0
    context.run(spend, "me", 1.0)
    assert await asked_by("me", "you") == [429, 200]
    ((start, body),) = [await answered(settings, [request(user="me")], turns=turns)]
    assert dict(start["headers"])[b"retry-after"] == b"40"
    error = json.loads(body["body"])["error"]
    assert (error["code"], error["reason"]) == ("too_many_requests", "processor_seconds")
    assert "10 seconds of the processor" in error["message"]
    assert await statuses(settings, [request("/", user="me")], turns=turns) == [200], "no question"
    clock.now += 40.0
    assert await asked_by("me") == [200]


async def test_a_refused_question_does_not_count() -> None:
    turns = CpuLimiter(1, 1, clock=Clock(), processor=iter([0.0, 50.0]).__next__)
    settings = Settings(questions_per_minute=2)

    def spend() -> None:
        VISITOR.set(key_of("user me"))
        with turns.computing():
            pass

    counter = QuestionCounter(2)
    copy_context().run(spend)
    refused = [request(user="me")] * 3
    assert await statuses(settings, refused, turns=turns, counter=counter) == [429] * 3
    assert await statuses(settings, refused, counter=counter) == [200, 200, 429]


async def test_whoever_has_many_questions_under_way_is_refused() -> None:
    pool = WorkPool(threads=1, waiting=8, waiting_of_one=0)
    requests = [request(user=user) for user in ("me", "you")]
    async with pool.place(key_of("user me")), AsyncExitStack() as line:
        waits = asyncio.create_task(line.enter_async_context(pool.place(key_of("user me"))))
        await asyncio.sleep(0)
        refusals = [pool.refusal(key_of(f"user {user}")) for user in ("me", "you")]
        seen = await statuses(Settings(), requests, pool=pool)
        waits.cancel()
    assert seen == [429, 200]
    assert [error and error.code for error in refusals] == ["too_many_requests", None]


async def test_an_unnamed_proxy_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    requests = [request(), *[request(forwarded="203.0.113.7")] * 3]
    await statuses(Settings(), requests)
    lines = [record.message for record in caplog.records]
    assert len(lines) == 1 and "GPUSIZER_TRUSTED_PROXIES" in lines[0]
    assert "203.0.113.7" not in caplog.text
    caplog.clear()
    await statuses(Settings(trusted_proxies=1), requests)
    assert caplog.records == []
