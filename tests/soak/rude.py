"""Rude visitors: they do not read, do not end what they begin, leave, and write what they like."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from random import Random
from typing import Any
from uuid import uuid4

from tests.hostile import HOSTILE_MODEL
from tests.soak.doors import LANGUAGES, Doors

_TEXTS = (
    *(
        "",
        "\x00",
        "\ud800",
        "\u202e",
        "../../etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1/",
    ),
    *("1e999", "-1", "NaN", "9" * 400, "{}" * 500, "'\"<svg onload=x>", "a/b" * 90, "=1+1"),
    *(HOSTILE_MODEL, "Qwen/Qwen3-8B@" + "f" * 40, "%0d%0aSet-Cookie: a=b"),
)
_VALUES: tuple[Any, ...] = (*_TEXTS, None, 0, -1, 10**30, 1.5, True, [], {}, ["x"] * 300, [[[]]])
_BODIES = ("", "{", "[]", "null", "{}", '{"data": 1}', '{"data": [[[[[[]]]]]]}', "\x00" * 100)
_LOG = "INFO 01-01 00:00:00 model_runner.py:1115] Loading model weights took 14.9596 GB\n"


class Rude:
    """Visitors from a few addresses, whose connections stay open until `leave`."""

    def __init__(self, doors: Doors, port: int) -> None:
        self._doors = doors
        self._port = port
        self._random = Random(2)
        self._addresses = itertools.cycle(f"203.0.113.{number}" for number in range(8))
        self._languages = itertools.cycle(LANGUAGES)
        self._connections: list[asyncio.StreamWriter] = []

    def visits(self) -> Iterator[Coroutine[Any, Any, None]]:
        """All that visitors do, once."""
        yield self.leaves_answers_unread()
        yield self.sends_half_a_body()
        yield self.opens_streams()
        yield self.leaves_early()
        yield self.writes_what_it_likes()

    async def leave(self) -> None:
        """Close the connections, every other one as if the power had failed."""
        for number, writer in enumerate(self._connections):
            if number % 2:
                writer.transport.abort()
            writer.close()
        for writer in self._connections:
            with suppress(OSError):
                await writer.wait_closed()
        self._connections.clear()

    async def leaves_answers_unread(self) -> None:
        """Questions of a page and of the endpoints in sessions that are never read."""
        visitor, language, session = next(self._addresses), next(self._languages), uuid4().hex
        for _ in range(3):
            fields = {"model": "Qwen/Qwen3-8B", "top": 1000}
            await self._doors.post("gradio_api/call/v2/size_model", visitor, fields)
            await self._doors.join(language, "names", session, visitor)
        log = {"field-0": _LOG * 500}
        await self._doors.join(language, "log", session, visitor, **log)

    async def sends_half_a_body(self) -> None:
        """Bodies that are announced and do not come, and heads that do not end."""
        for length in (2_000, 200_000):
            head = f"content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            body = '{"data": ["' + "x" * (length // 2)
            await self._open("POST", "/gradio_api/queue/join", head + body)
        await self._open("GET", "/v1/size?model=Qwen/Qwen3-8B", "x-half: ")

    async def opens_streams(self) -> None:
        """Streams that are not read: of a session whose answer is large, of none, and of MCP."""
        visitor, language, session = next(self._addresses), next(self._languages), uuid4().hex
        asked = {"gs-model": "Qwen/Qwen3-8B", "gs-size-wishes": json.dumps([["ask", ""]])}
        await self._doors.join(language, "size", session, visitor, **asked)
        for path in (
            f"/{language}/gradio_api/queue/data?session_hash={session}",
            f"/{language}/gradio_api/queue/data?session_hash={session}",
            f"/gradio_api/heartbeat/{session}",
            "/gradio_api/mcp/",
            "/gradio_api/mcp/sse",
        ):
            await self._open("GET", path, "accept: text/event-stream\r\n\r\n")

    async def leaves_early(self) -> None:
        """Leave during the work on an answer, and call a question off."""
        visitor, language, session = next(self._addresses), next(self._languages), uuid4().hex
        asked = {"gs-model": "microsoft/phi-4", "gs-size-wishes": json.dumps([["ask", ""]])}
        joined = await self._doors.join(language, "size", session, visitor, **asked)
        path = f"/{language}/gradio_api/queue/data?session_hash={session}"
        reader = await self._open("GET", path, "\r\n")
        await self._doors.join(language, "draw", session, visitor)
        if joined.status_code == 200:
            body = {"event_id": joined.json()["event_id"], "session_hash": session, "fn_index": 0}
            await self._doors.post(f"{language}/gradio_api/cancel", visitor, body)
        reader.transport.abort()

    async def writes_what_it_likes(self) -> None:
        """Hostile values in the fields of every door, and bodies that are none."""
        visitor, any_of = next(self._addresses), self._random.choice
        named = [text for text in _TEXTS if text.isprintable()]  # others have no form in a query
        texts = {"model": any_of(named), "gpu": any_of(named), any_of(named)[:50]: "x"}
        await self._doors.get("v1/size", visitor, **texts)
        await self._doors.get("v1/badge", visitor, **texts)
        fields = {"model": any_of(_VALUES), "context": any_of(_VALUES), "options": any_of(_VALUES)}
        await self._doors.call("size_model", visitor, **fields)
        await self._doors.tool("size_model", visitor, **fields)
        language, session = next(self._languages), uuid4().hex
        stated = {"gs-model": any_of(_VALUES), "gs-size-wishes": any_of(_VALUES)}
        await self._doors.join(language, "size", session, visitor, **stated)
        await self._doors.read(language, session, visitor)
        for path in ("gradio_api/queue/join", "gradio_api/mcp/", "gradio_api/cancel"):
            await self._doors.post(path, visitor, any_of(_BODIES))

    async def _open(self, method: str, path: str, rest: str) -> asyncio.StreamWriter:
        """Send a request and read nothing of its answer; it stays open until `leave`."""
        _, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1_024)
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n"
        writer.write(f"{head}x-forwarded-for: {next(self._addresses)}\r\n{rest}".encode())
        await writer.drain()
        self._connections.append(writer)
        return writer
