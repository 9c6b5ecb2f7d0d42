"""Visitors: who they are, how often they may ask, and what the log says of them."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest, TooManyRequests
from gpusizer.core.settings import Settings
from gpusizer.core.structured_log import FACTS, JsonFormatter
from gpusizer.ui.server.question_counter import QuestionCounter
from gpusizer.ui.server.shared_counter import SharedCounter
from gpusizer.ui.server.visitor_limits import is_question, refusal
from gpusizer.ui.server.visitors import visitor_of

pytestmark = pytest.mark.anyio


def scope_of(
    peer: str = "198.51.100.9", forwarded: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return {"type": "http", "client": (peer, 5000), "headers": headers, **more}


@pytest.mark.parametrize(
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


def session(user: object) -> dict[str, Any]:
    return {"oauth_info": {"userinfo": {"sub": user, "preferred_username": "x"}}}


def test_a_signed_in_user_is_the_same_from_everywhere() -> None:
    one = visitor_of(scope_of("203.0.113.1", session=session("me")), 0)
    assert one == visitor_of(scope_of("203.0.113.2", session=session("me")), 0) == "user me"
    assert one != visitor_of(scope_of("203.0.113.1", session=session("you")), 0)


@pytest.mark.parametrize(
    "value", [{}, {"oauth_info": None}, {"oauth_info": {"userinfo": []}}, session(""), session(7)]
)
def test_a_session_without_a_user(value: dict[str, Any]) -> None:
    assert visitor_of(scope_of(session=value), 0) == "address 198.51.100.9"


def test_a_token_is_nobody_before_the_hub_has_seen_it() -> None:
    scope = scope_of()
    scope["headers"] = [(b"authorization", b"Bearer hf_made_up")]
    assert visitor_of(scope, 0) == "address 198.51.100.9"


@pytest.mark.parametrize(
    "method, path, counts",
    [
        ("GET", "/v1/size", True),
        ("HEAD", "/v1/size", True),
        ("GET", "/v1/badge", True),
        ("HEAD", "/v1/badge", True),
        ("GET", "/v1/docs", False),
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


async def asked(counter: QuestionCounter, visitors: list[str]) -> list[bool]:
    """Whether each of some questions, asked one after another, is answered."""
    answered = [await counter.seconds_to_wait(visitor) is None for visitor in visitors]
    await counter.close()
    return answered


async def test_each_visitor_has_a_count_of_their_own() -> None:
    answered = await asked(QuestionCounter(3), ["a"] * 5 + ["b"] * 2)
    assert answered == [True] * 3 + [False] * 2 + [True] * 2


async def test_seconds_to_wait() -> None:
    counter = QuestionCounter(1)
    assert await counter.seconds_to_wait("a") is None
    seconds = await counter.seconds_to_wait("a")
    assert seconds is not None and 1 <= seconds <= 60


async def test_processes_share_a_count(redis_url: str) -> None:
    counters = [SharedCounter(3, redis_url) for _ in range(2)]
    waits = [await counter.seconds_to_wait("a") for counter in counters * 3]
    for counter in counters:
        await counter.close()
    assert [wait is None for wait in waits] == [True] * 3 + [False] * 3


async def test_without_redis_each_process_counts(caplog: pytest.LogCaptureFixture) -> None:
    answered = await asked(SharedCounter(2, "redis://:canary-password@127.0.0.1:1/0"), ["a"] * 4)
    assert answered == [True] * 2 + [False] * 2
    lines = [record.message for record in caplog.records]
    assert len(lines) == 1 and "away" in lines[0]
    assert "canary-password" not in caplog.text


async def test_visitors_without_number_share_windows() -> None:
    counter = QuestionCounter(per_minute=2, most_windows=10)
    await asked(counter, [f"address 2001:db8:{number:x}::/64" for number in range(5_000)])
    assert counter.windows <= 10 + 4_096
    assert (await asked(counter, ["new"] * 3))[-1] is False


async def test_visitors_who_came_first_keep_their_own_windows() -> None:
    counter = QuestionCounter(per_minute=2, most_windows=100)
    visitors = [f"address 198.51.100.{number}" for number in range(50)]
    assert await asked(counter, visitors * 3) == [True] * 100 + [False] * 50


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


@pytest.mark.parametrize(
    "variable",
    [
        *("GPUSIZER_QUESTIONS_PER_MINUTE", "GPUSIZER_SECONDS_PER_MINUTE"),
        "GPUSIZER_TRUSTED_PROXIES",
    ],
)
@pytest.mark.parametrize("value", ["-1", "1.5", "many", "99999999"])
def test_impossible_settings(variable: str, value: str) -> None:
    with pytest.raises(InvalidRequest):
        Settings.from_environment({variable: value})


@pytest.mark.parametrize(
    "questions, seconds, apart",
    [(1, 1, True), (None, 1, True), (1, None, True), (None, None, False)],
)
def test_visitors_are_told_apart_where_one_has_a_limit(
    questions: int | None, seconds: int | None, apart: bool
) -> None:
    limits = Settings(questions_per_minute=questions, seconds_per_minute=seconds)
    assert limits.tells_visitors_apart is apart


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


@pytest.mark.parametrize(
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
