"""OpenStreams: who holds many connections, or holds one for long, leaves room for others."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.types import Message, Receive, Scope, Send

from gpusizer.core.settings import Settings
from gpusizer.ui.server.doors.open_streams import OpenStreams, is_stream

pytestmark = pytest.mark.anyio


class Waiting:
    """An application whose answers begin, and end when they are let."""

    def __init__(self) -> None:
        self.end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.end.wait()
        await send({"type": "http.response.body", "body": b"told", "more_body": False})


class Asked:
    """A request of a visitor, and what was sent to it."""

    def __init__(
        self, app: OpenStreams, peer: str, path: str = "/gradio_api/queue/data", method: str = "GET"
    ) -> None:
        scope = {"type": "http", "method": method, "path": path, "query_string": b""}
        self.sent: list[Message] = []
        self.task = asyncio.create_task(
            app({**scope, "client": (peer, 5000), "headers": []}, self._receive, self._send)
        )

    async def _receive(self) -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])


async def begun(asked: list[Asked]) -> list[int]:
    """Return the statuses of answers, once all have begun."""
    while not all(each.sent for each in asked):
        await asyncio.sleep(0)
    return [each.status for each in asked]


async def test_one_visitor_and_all_have_so_many() -> None:
    waiting = Waiting()
    app = OpenStreams(waiting, Settings(), most=5, most_of_one=3)
    one = [Asked(app, "198.51.100.1") for _ in range(4)]
    assert await begun(one) == [200, 200, 200, 503]
    others = [Asked(app, f"198.51.100.{number}") for number in (2, 3, 4)]
    assert await begun(others) == [200, 200, 503]
    files = [Asked(app, "198.51.100.1", "/style.css")]
    assert await begun(files) == [200], "is none"
    one[0].task.cancel()  # a reader leaves
    await asyncio.gather(one[0].task, return_exceptions=True)
    assert await begun([Asked(app, "198.51.100.1"), Asked(app, "198.51.100.1")]) == [200, 503]
    waiting.end.set()
    await asyncio.gather(*(each.task for each in (*one[1:], *others, *files)))
    assert one[1].sent[-1]["body"] == b"told"


async def test_the_refusal_says_when_to_come_again() -> None:
    refused = Asked(OpenStreams(Waiting(), Settings(), most=0), "198.51.100.1")
    await refused.task
    headers = dict(refused.sent[0]["headers"])
    assert (refused.status, headers[b"retry-after"]) == (503, b"5")
    body = json.loads(refused.sent[1]["body"])
    assert body["error"]["code"] == "server_busy" and body["detail"]


async def test_without_a_limit_of_questions_one_visitor_may_have_all() -> None:
    app = OpenStreams(Waiting(), Settings(questions_per_minute=None), most=4, most_of_one=1)
    assert await begun([Asked(app, "198.51.100.1") for _ in range(5)]) == [200] * 4 + [503]


async def test_a_stream_that_lasts_is_ended_and_makes_room() -> None:
    app = OpenStreams(Waiting(), Settings(), most=1, longest_seconds=0.05)
    first = Asked(app, "198.51.100.1")
    await first.task
    end = {"type": "http.response.body", "body": b"", "more_body": False}
    assert (first.status, first.sent[-1]) == (200, end)
    assert await begun([Asked(app, "198.51.100.1")]) == [200]


async def test_one_that_has_not_begun_is_refused() -> None:
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    asked = Asked(OpenStreams(silent, Settings(), longest_seconds=0.05), "198.51.100.1")
    await asked.task
    assert asked.status == 503


@pytest.mark.parametrize(
    "method, path, waits",
    [
        ("GET", "/gradio_api/queue/data", True),
        ("GET", "/below/pt/gradio_api/queue/data", True),
        ("GET", "/gradio_api/call/size_model/7f", True),
        ("GET", "/gradio_api/call/v2/size_model/7f", True),
        ("GET", "/en/gradio_api/heartbeat/a", True),
        ("GET", "/gradio_api/mcp/sse", True),
        ("POST", "/gradio_api/mcp/", True),
        ("POST", "/gradio_api/mcp", True),
        ("POST", "/gradio_api/call/v2/size_model", False),
        ("POST", "/gradio_api/queue/join", False),
        ("GET", "/v1/size", False),
        ("GET", "/", False),
    ],
)
def test_streams(method: str, path: str, waits: bool) -> None:
    assert is_stream({"type": "http", "method": method, "path": path}) is waits
