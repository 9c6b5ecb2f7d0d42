"""SlowReaders: what a connection takes slowly is whole, packed meanwhile, and bounded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from gpusizer.ui.server.doors.slow_readers import SlowReaders, close_unread
from gpusizer.ui.server.unread_answers import UNREAD_SECONDS

pytestmark = pytest.mark.anyio

SCOPE = {"type": "http", "method": "GET", "path": "/"}


def text(number: int, length: int = 300_000) -> bytes:
    """Return an answer that is packed to half of its length."""
    return Random(number).randbytes(length // 2).hex().encode()


class Connection:
    """Takes what is sent while it is open."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.taken: list[Message] = []
        self.opened = asyncio.Event()
        if is_open:
            self.opened.set()

    async def receive(self) -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.opened.wait()
        self.taken.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.taken)


def answering(*bodies: bytes) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Return an application that answers with parts and signals its end by the scope's event."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number, body in enumerate(bodies):
            more = number < len(bodies) - 1
            await send({"type": "http.response.body", "body": body, "more_body": more})
        scope["done"].set()

    return app


class Asked:
    """A request whose connection takes the head of its answer, and the rest once it is opened."""

    def __init__(self, readers: SlowReaders) -> None:
        self.done = asyncio.Event()
        self.connection = Connection(is_open=False)
        scope = {**SCOPE, "done": self.done}
        self.task = asyncio.create_task(readers(scope, self.connection.receive, self._send))

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.connection.taken.append(message)
        else:
            await self.connection.send(message)

    async def taken(self) -> bytes:
        """Open the connection, and return what it took when the request has ended."""
        self.connection.opened.set()
        await self.task
        return self.connection.body


@pytest.mark.parametrize("length", [0, 1, 32_768, 32_769, 65_536, 1_000_001])
def test_an_answer_is_what_it_was(length: int) -> None:
    def plain(_: Request) -> Response:
        return Response(text(1, length))

    def streamed(_: Request) -> StreamingResponse:
        return StreamingResponse(iter([b"a", text(2, length), b"", text(3, length), b"z"]))

    routes = [Route("/plain", plain), Route("/streamed", streamed)]
    app = Starlette(routes=routes, middleware=[Middleware(SlowReaders)])
    with TestClient(app) as client:
        assert client.get("/plain").content == text(1, length)
        parts = b"a" + text(2, length) + text(3, length) + b"z"
        assert client.get("/streamed").content == parts
        assert client.get("/none").status_code == 404


async def test_an_application_is_done_before_a_slow_connection_is() -> None:
    bodies = [text(1), b"small", text(2), b""]
    readers = SlowReaders(answering(*bodies))
    asked = Asked(readers)
    await asked.done.wait()
    assert not asked.task.done() and asked.connection.body == b""
    assert 300_000 < readers.size_bytes < 450_000, "half of the texts, and what uvicorn holds"
    assert await asked.taken() == b"".join(bodies)
    assert [message.get("more_body") for message in asked.connection.taken[-2:]] == [
        True,
        False,
    ]
    assert readers.size_bytes == 0


async def test_what_is_left_of_an_answer_is_packed() -> None:
    readers, rest = SlowReaders(answering(text(1))), Connection(is_open=False)
    pieces: list[Message] = []

    async def send(message: Message) -> None:
        if len(pieces) == 4:
            await rest.opened.wait()
        pieces.append(message)

    done = asyncio.Event()
    request = asyncio.create_task(readers({**SCOPE, "done": done}, rest.receive, send))
    await done.wait()
    assert len(pieces) == 4 and readers.size_bytes > 0
    rest.opened.set()
    await request
    assert b"".join(piece.get("body", b"") for piece in pieces) == text(1)


async def test_past_the_bound_those_go_that_have_been_slow_for_longest() -> None:
    readers = SlowReaders(answering(text(1)), max_bytes=1_000_000)
    asked = [Asked(readers) for _ in range(6)]
    ends = [asyncio.create_task(each_asked.done.wait()) for each_asked in asked]
    for end, each_asked in zip(ends, asked, strict=True):
        await asyncio.wait({end, each_asked.task}, return_when="FIRST_COMPLETED")
    await asyncio.sleep(0.01)  # in which those that are to go do so
    assert 0 < readers.size_bytes <= 1_000_000
    closed = [each_asked.task.done() for each_asked in asked]
    gone = sum(closed)
    assert 0 < gone < 6 and closed == [True] * gone + [False] * (6 - gone)
    left = [await each_asked.taken() for each_asked in asked[gone:]]
    assert left == [text(1)] * len(left) and readers.size_bytes == 0
    await asyncio.gather(*(each_asked.task for each_asked in asked[:gone]))
    assert asked[0].connection.body == b""


async def test_a_request_that_is_cancelled_leaves_nothing() -> None:
    readers = SlowReaders(answering(text(1)))
    asked = Asked(readers)
    await asked.done.wait()
    assert readers.size_bytes > 0
    asked.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked.task
    assert readers.size_bytes == 0


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="needs Linux")
async def test_connections_that_take_nothing_are_the_systems_to_close() -> None:
    options: asyncio.Queue[int] = asyncio.Queue()

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted: Any = writer.get_extra_info("socket")
        options.put_nowait(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        close_unread(server.sockets)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await options.get() == UNREAD_SECONDS * 1000
        writer.close()
