"""RequestLimits: headers that it adds, bodies that it lets through."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from gpusizer.ui.request_limits import MAX_BODY_BYTES, RequestLimits
from tests.coroutines import run_in_thread


def answer_to(response: Response | None, *pieces: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers with which a body in pieces is answered; None answers with its length."""
    messages: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": place < len(pieces)}
        for place, piece in enumerate(pieces, start=1)
    ]
    sent: list[Any] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        await (response or PlainTextResponse(str(len(body))))(scope, receive, send)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    run_in_thread(RequestLimits(app)(scope, receive, send))
    start = sent[0]
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (PlainTextResponse("queue is full", 503), "5"),
        (PlainTextResponse("slow down", 429), "60"),
        (PlainTextResponse("slow down", 429, {"retry-after": "9"}), "9"),
        (PlainTextResponse("fine", 200), None),
    ],
)
def test_who_must_wait_is_told_how_long(response: Response, seconds: str | None) -> None:
    _, headers = answer_to(response, b"")
    assert headers.get("retry-after") == seconds


def test_a_body_is_counted_over_all_its_pieces() -> None:
    half = bytes(MAX_BODY_BYTES // 2)
    assert answer_to(None, half, half)[0] == 200
    assert answer_to(None, half, half, b"x")[0] == 413
