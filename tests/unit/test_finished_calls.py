"""FinishedCalls: streams that were read are opened once more by a client that has left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from gpusizer.ui.finished_calls import REST_SECONDS, FinishedCalls

STREAM = "/gradio_api/call/size_model/"


class Gradio:
    """Takes note of who asks, and answers with the path."""

    def __init__(self) -> None:
        self.visits: list[tuple[str, str]] = []
        self.headers: list[Any] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].endswith("broken"):
            raise RuntimeError(scope["path"])
        message = await receive()
        self.visits.append((message["type"].removeprefix("http."), scope["path"]))
        self.headers.append(scope["headers"])
        scope["path"] += "/changed by a router"
        await send({"type": "http.response.body", "body": scope["path"].encode()})


class Server:
    """FinishedCalls before this Gradio, with a clock to set."""

    def __init__(self) -> None:
        self.gradio, self.now, self.sent = Gradio(), 0.0, list[Message]()
        self.calls = FinishedCalls(self.gradio, clock=lambda: self.now)

    def get(self, path: str, method: str = "GET") -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            self.sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": [(b"cookie", b"a")]}
        asyncio.run(self.calls(scope, receive, send))


@pytest.fixture
def server() -> Server:
    return Server()


def test_a_stream_is_left_alone_for_a_while_and_then_visited_once(server: Server) -> None:
    server.get(f"{STREAM}1")
    server.now = REST_SECONDS - 1
    server.get(f"{STREAM}2")
    assert server.gradio.visits == [("request", f"{STREAM}1"), ("request", f"{STREAM}2")]
    server.now = REST_SECONDS
    server.get(f"{STREAM}3")
    server.get(f"{STREAM}4")
    left = [path for kind, path in server.gradio.visits if kind == "disconnect"]
    assert left == [f"{STREAM}1"]


def test_nobody_gets_what_the_visits_are_answered(server: Server) -> None:
    for number in range(3):
        server.get(f"{STREAM}{number}")
    server.now = REST_SECONDS
    server.get(f"{STREAM}last")
    assert len(server.gradio.visits) == 6 and len(server.sent) == 4
    assert server.gradio.headers[-2:] == [[], []], "nobody's headers"


@pytest.mark.parametrize(
    ("path", "method"),
    [("/gradio_api/call/v2/size_model", "POST"), ("/v1/size", "GET"), ("/gradio_api/info", "GET")],
)
def test_other_requests_are_passed_on_alone(server: Server, path: str, method: str) -> None:
    server.get(path, method)
    server.now = REST_SECONDS
    server.get(path, method)
    assert server.gradio.visits == [("request", path)] * 2


def test_a_stream_that_failed_is_not_visited(server: Server) -> None:
    with pytest.raises(RuntimeError):
        server.get(f"{STREAM}broken")
    server.now = REST_SECONDS
    server.get(f"{STREAM}1")
    assert server.gradio.visits == [("request", f"{STREAM}1")]
