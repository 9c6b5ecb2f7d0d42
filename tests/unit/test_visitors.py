"""Visitors: who they are, how often they may ask, and what the log says of them."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import AsyncExitStack
from contextvars import copy_context
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from gpusizer.core.errors import InvalidRequest, TooManyRequests
from gpusizer.core.settings import Settings
from gpusizer.core.structured_log import FACTS, JsonFormatter
from gpusizer.core.work_turns import VISITOR, WorkTurns
from gpusizer.ui.questions.asker import asker_of
from gpusizer.ui.questions.work_pool import WorkPool
from gpusizer.ui.server.question_counter import QuestionCounter, key_of
from gpusizer.ui.server.shared_counter import SharedCounter
from gpusizer.ui.server.visitor_limits import VisitorLimits, is_question, refusal
from gpusizer.ui.server.visitors import visitor_of
from tests.clock import Clock
from tests.coroutines import run_in_thread
from tests.each import each


def scope_of(
    peer: str = "198.51.100.9", forwarded: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return {"type": "http", "client": (peer, 5000), "headers": headers, **more}


@each(
    "proxies, forwarded, visitor",
    [
        (0, (), "198.51.100.9"),
        (0, ("203.0.113.7",), "198.51.100.9"),
        (1, ("203.0.113.7",), "203.0.113.7"),
        (1, ("6.6.6.6, 203.0.113.7",), "203.0.113.7"),
        (1, ("6.6.6.6", "203.0.113.7"), "203.0.113.7"),
        (2, ("6.6.6.6, 203.0.113.7, 10.0.0.1",), "203.0.113.7"),
        (2, ("203.0.113.7",), "203.0.113.7"),
        (1, (), "198.51.100.9"),
        (1, ("",), "198.51.100.9"),
        (1, ("203.0.113.7:81",), "203.0.113.7"),
        (1, ("[2001:db8:0:1::9]:443",), "2001:db8:0:1::/64"),
        (1, ("2001:db8:0:1:ffff::9",), "2001:db8:0:1::/64"),
        (1, ("fe80::1%eth0",), "fe80::/64"),
        (1, ("::ffff:203.0.113.7",), "203.0.113.7"),
        (1, ("unknown",), "unknown"),
        (1, ("6.6.6.6, \u00e9\u00ff'\"<>",), "unknown"),
        (1, ("1.2.3.4," * 10_000 + "203.0.113.7",), "203.0.113.7"),
    ],
)
def test_addresses(proxies: int, forwarded: tuple[str, ...], visitor: str) -> None:
    assert visitor_of(scope_of(forwarded=forwarded), proxies) == f"address {visitor}"


def test_a_peer_of_ipv6_is_its_network() -> None:
    one, other = (visitor_of(scope_of(f"2001:db8::{end}"), 0) for end in ("1", "ffff:2"))
    assert one == other == "address 2001:db8::/64"
    assert visitor_of(scope_of("2001:db8:0:1::1"), 0) != one


def test_a_connection_without_an_address() -> None:
    assert visitor_of({**scope_of(), "client": None}, 0) == "address unknown"


def session(user: object) -> dict[str, Any]:
    return {"oauth_info": {"userinfo": {"sub": user, "preferred_username": "x"}}}


def test_a_signed_in_user_is_the_same_from_everywhere() -> None:
    one = visitor_of(scope_of("203.0.113.1", session=session("me")), 0)
    assert one == visitor_of(scope_of("203.0.113.2", session=session("me")), 0) == "user me"
    assert one != visitor_of(scope_of("203.0.113.1", session=session("you")), 0)


@each(
    "value", [{}, {"oauth_info": None}, {"oauth_info": {"userinfo": []}}, session(""), session(7)]
)
def test_a_session_without_a_user(value: dict[str, Any]) -> None:
    assert visitor_of(scope_of(session=value), 0) == "address 198.51.100.9"


def test_a_token_is_nobody_before_the_hub_has_seen_it() -> None:
    scope = scope_of()
    scope["headers"] = [(b"authorization", b"Bearer hf_made_up")]
    assert visitor_of(scope, 0) == "address 198.51.100.9"


@each(
    "method, path, counts",
    [
        ("GET", "/v1/size", True),
        ("HEAD", "/v1/size", True),
        ("GET", "/badge", True),
        ("GET", "/v1/docs", False),
        ("GET", "/badge", True),
        ("HEAD", "/badge", True),
        ("GET", "/", False),
        ("GET", "/healthz", False),
        ("GET", "/gradio_api/queue/data", False),
        ("POST", "/gradio_api/call/size_model", True),
        ("POST", "/zh/gradio_api/queue/join", True),
        ("POST", "/gradio_api/mcp/", True),
    ],
)
def test_questions(method: str, path: str, counts: bool) -> None:
    assert is_question({"type": "http", "method": method, "path": path}) is counts


def test_other_than_http_is_no_question() -> None:
    assert not is_question({"type": "websocket", "path": "/v1/size"})


def asked(counter: QuestionCounter, visitors: list[str]) -> list[bool]:
    """Whether each of some questions, asked one after another, is answered."""

    async def ask() -> list[bool]:
        answered = [await counter.seconds_to_wait(visitor) is None for visitor in visitors]
        await counter.close()
        return answered

    return run_in_thread(ask())


def test_each_visitor_has_a_count_of_their_own() -> None:
    answered = asked(QuestionCounter(3), ["a"] * 5 + ["b"] * 2)
    assert answered == [True] * 3 + [False] * 2 + [True] * 2


def test_seconds_to_wait() -> None:
    async def ask() -> int | None:
        counter = QuestionCounter(1)
        assert await counter.seconds_to_wait("a") is None
        return await counter.seconds_to_wait("a")

    seconds = run_in_thread(ask())
    assert seconds is not None and 1 <= seconds <= 60


def test_processes_share_a_count(redis_url: str) -> None:
    async def ask() -> list[bool]:
        counters = [SharedCounter(3, redis_url) for _ in range(2)]
        waits = [await counter.seconds_to_wait("a") for counter in counters * 3]
        for counter in counters:
            await counter.close()
        return [wait is None for wait in waits]

    assert run_in_thread(ask()) == [True] * 3 + [False] * 3


def test_without_redis_each_process_counts(caplog: pytest.LogCaptureFixture) -> None:
    answered = asked(SharedCounter(2, "redis://:canary-password@127.0.0.1:1/0"), ["a"] * 4)
    assert answered == [True] * 2 + [False] * 2
    lines = [record.message for record in caplog.records]
    assert len(lines) == 1 and "away" in lines[0]
    assert "canary-password" not in caplog.text


def test_visitors_without_number_share_windows() -> None:
    counter = QuestionCounter(per_minute=2, most_windows=10)
    asked(counter, [f"address 2001:db8:{number:x}::/64" for number in range(5_000)])
    assert counter.windows <= 10 + 4_096
    assert asked(counter, ["new"] * 3)[-1] is False


def test_visitors_who_came_first_keep_their_own_windows() -> None:
    counter = QuestionCounter(per_minute=2, most_windows=100)
    visitors = [f"address 198.51.100.{number}" for number in range(50)]
    assert asked(counter, visitors * 3) == [True] * 100 + [False] * 50


@pytest.mark.parametrize(
    ("path", "accepted", "language", "word"),
    [
        ("/v1/size", "", "en", "Too many questions"),
        ("/v1/size", "zh-CN,en;q=0.5", "zh", "提问过多"),
        ("/pt/gradio_api/queue/join", "zh", "pt", "perguntas demais"),
        ("/en/gradio_api/queue/join", "zh", "en", "Too many questions"),
    ],
)
def test_the_refusal_is_a_typed_error_in_the_callers_language(
    path: str, accepted: str, language: str, word: str
) -> None:
    headers = [(b"accept-language", accepted.encode())]
    scope = {"type": "http", "path": path, "headers": headers, "query_string": b""}
    response = refusal(scope, TooManyRequests(allowed=300, retry_after_seconds=17))
    assert response.status_code == 429
    assert (response.headers["retry-after"], response.headers["content-language"]) == (
        "17",
        language,
    )
    text = bytes(response.body).decode()
    assert '"code":"too_many_requests"' in text and '"retry_after_seconds":17' in text
    assert word in text and "300" in text and '"detail":' in text


@each("value, number", [("", 300), ("off", None), ("0", None), ("7", 7), ("1000000", 10**6)])
def test_settings(value: str, number: int | None) -> None:
    settings = Settings.from_environment({"GPUSIZER_QUESTIONS_PER_MINUTE": value})
    assert settings.questions_per_minute == number


@each(
    "variable",
    [
        *("GPUSIZER_QUESTIONS_PER_MINUTE", "GPUSIZER_SECONDS_PER_MINUTE"),
        "GPUSIZER_TRUSTED_PROXIES",
    ],
)
@each("value", ["-1", "1.5", "many", "99999999"])
def test_impossible_settings(variable: str, value: str) -> None:
    with pytest.raises(InvalidRequest):
        Settings.from_environment({variable: value})


def test_no_proxy_is_trusted_unless_the_operator_says_so() -> None:
    assert Settings.from_environment({}).trusted_proxies == 0
    assert Settings.from_environment({"GPUSIZER_TRUSTED_PROXIES": "2"}).trusted_proxies == 2


@each("value, number", [("", 40), ("off", None), ("0", None), ("7", 7)])
def test_seconds(value: str, number: int | None) -> None:
    settings = Settings.from_environment({"GPUSIZER_SECONDS_PER_MINUTE": value})
    assert settings.seconds_per_minute == number


@each(
    "questions, seconds, apart",
    [(1, 1, True), (None, 1, True), (1, None, True), (None, None, False)],
)
def test_visitors_are_told_apart_where_one_has_a_limit(
    questions: int | None, seconds: int | None, apart: bool
) -> None:
    limits = Settings(questions_per_minute=questions, seconds_per_minute=seconds)
    assert limits.tells_visitors_apart is apart


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the key of who asks."""
    await PlainTextResponse(asker_of(HTTPConnection(scope)) or "")(scope, receive, send)


def statuses(settings: Settings, scopes: list[dict[str, Any]], **answering: Any) -> list[int]:
    """The status of each of some requests, sent one after another."""
    return [
        message["status"]
        for message in answered(settings, scopes, **answering)
        if message["type"] == "http.response.start"
    ]


def answered(settings: Settings, scopes: list[dict[str, Any]], **answering: Any) -> list[Message]:
    """What some requests are answered, sent one after another."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        limited = VisitorLimits(application, settings, **answering)
        for scope in scopes:
            await limited(scope, receive, send)

    run_in_thread(ask())
    return sent


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


def bodies(settings: Settings, scopes: list[dict[str, Any]]) -> list[str]:
    return [
        message["body"].decode()
        for message in answered(settings, scopes)
        if message["type"] == "http.response.body"
    ]


def test_every_request_says_whose_it_is_and_no_address() -> None:
    requests = [request(), request("/"), request(user="me"), request(user="you")]
    keys = bodies(Settings(), requests)
    assert keys[0] == keys[1] and len({*keys}) == 3
    assert all(len(key) == 32 and "198" not in key and "me" not in key for key in keys)


def test_where_no_visitor_has_a_limit_none_is_told_from_others() -> None:
    unlimited = Settings(questions_per_minute=None, seconds_per_minute=None)
    assert bodies(unlimited, [request(), request(user="me")]) == ["", ""]


def test_whoever_has_used_the_seconds_of_a_minute_is_refused_until_some_are_past() -> None:
    clock, used = Clock(), [0.0]
    turns = WorkTurns(1, 1, clock=clock, processor=lambda: used[0])

    def spend(user: str, seconds: float) -> None:
        VISITOR.set(key_of(f"user {user}"))
        with turns.computing():
            used[0] += seconds

    def asked_by(*users: str) -> list[int]:
        return statuses(settings, [request(user=user) for user in users], turns=turns)

    settings = Settings(seconds_per_minute=10, questions_per_minute=None)
    context = copy_context()
    context.run(spend, "me", 9.0)
    assert asked_by("me", "you") == [200, 200]
    clock.now += 20.0
    context.run(spend, "me", 1.0)
    assert asked_by("me", "you") == [429, 200]
    ((start, body),) = [answered(settings, [request(user="me")], turns=turns)]
    assert dict(start["headers"])[b"retry-after"] == b"40"
    error = json.loads(body["body"])["error"]
    assert (error["code"], error["reason"]) == ("too_many_requests", "processor_seconds")
    assert "10 seconds of the processor" in error["message"]
    assert statuses(settings, [request("/", user="me")], turns=turns) == [200], "no question"
    clock.now += 40.0
    assert asked_by("me") == [200]


def test_a_refused_question_does_not_count() -> None:
    turns = WorkTurns(1, 1, clock=Clock(), processor=iter([0.0, 50.0]).__next__)
    settings = Settings(questions_per_minute=2)

    def spend() -> None:
        VISITOR.set(key_of("user me"))
        with turns.computing():
            pass

    counter = QuestionCounter(2)
    copy_context().run(spend)
    refused = [request(user="me")] * 3
    assert statuses(settings, refused, turns=turns, counter=counter) == [429] * 3
    assert statuses(settings, refused, counter=counter) == [200, 200, 429]


def test_whoever_has_many_questions_under_way_is_refused() -> None:
    pool = WorkPool(threads=1, waiting=8, waiting_of_one=0)
    requests = [request(user=user) for user in ("me", "you")]

    async def ask() -> list[str | None]:
        async with pool.place(key_of("user me")), AsyncExitStack() as line:
            waits = asyncio.create_task(line.enter_async_context(pool.place(key_of("user me"))))
            await asyncio.sleep(0)
            refusals = [pool.refusal(key_of(f"user {user}")) for user in ("me", "you")]
            seen = await asyncio.to_thread(statuses, Settings(), requests, pool=pool)
            waits.cancel()
        return [*seen, *(error and error.code for error in refusals)]

    assert run_in_thread(ask()) == [429, 200, "too_many_requests", None]


def test_a_badge_that_is_refused_is_grey() -> None:
    scopes = [{**request("/badge"), "query_string": b"model=a/b"}] * 2
    messages = answered(Settings(questions_per_minute=1), scopes)
    start, body = messages[-2:]
    headers = dict(start["headers"])
    assert (start["status"], headers[b"content-type"]) == (429, b"image/svg+xml")
    assert b"retry-after" in headers and b"gpusizer" in body["body"]


def test_an_unnamed_proxy_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    requests = [request(), *[request(forwarded="203.0.113.7")] * 3]
    statuses(Settings(), requests)
    lines = [record.message for record in caplog.records]
    assert len(lines) == 1 and "GPUSIZER_TRUSTED_PROXIES" in lines[0]
    assert "203.0.113.7" not in caplog.text
    caplog.clear()
    statuses(Settings(trusted_proxies=1), requests)
    assert caplog.records == []


def logged(message: str, *arguments: object, **extra: Any) -> dict[str, Any]:
    record = logging.LogRecord(
        "a.logger", logging.WARNING, "path.py", 1, message, arguments, extra.pop("exc_info", None)
    )
    record.__dict__.update(extra)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    entry: dict[str, Any] = json.loads(text)
    return entry


def test_facts_are_entries_and_arguments_are_left_out() -> None:
    entry = logged("pool of %s is full", "secret-org/model", **{FACTS: {"status": 200}})
    assert entry["message"] == "pool of %s is full"
    assert (entry["level"], entry["logger"], entry["status"]) == ("WARNING", "a.logger", 200)
    assert entry["time"].endswith("+00:00")


@each(
    "private",
    [
        "hf_abcDEF123",
        "Bearer xyz",
        "https://host.example/a?b",
        "203.0.113.9",
        "2001:db8::1",
        "::1",
        "secret-org/secret.model",
    ],
)
def test_a_message_that_was_filled_in_loses_what_is_private(private: str) -> None:
    entry = logged(f"reading {private} failed at 12")
    assert private not in entry["message"]
    assert entry["message"].startswith("reading ") and entry["message"].endswith(" failed at 12")


def test_an_exception_is_its_type_and_its_frames() -> None:
    try:
        raise ValueError("hf_secret of secret-org/model")
    except ValueError:
        entry = logged("unexpected failure", exc_info=sys.exc_info())
    assert entry["exception"]["type"] == "ValueError"
    (frame,) = entry["exception"]["frames"]
    assert frame.endswith("test_an_exception_is_its_type_and_its_frames")
    assert "secret" not in json.dumps(entry)
