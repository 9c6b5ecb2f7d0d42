"""Calls of the running application by gradio_client, curl and MCP."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import pytest
import requests
from gradio_client import Client
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent, Tool

TIMEOUT = 30
T = TypeVar("T")


def call(client: Client, endpoint: str, *args: Any, **kwargs: Any) -> Any:
    """Call an endpoint with Gradio's own client."""
    return client.predict(*args, api_name=endpoint, **kwargs)


def through_curl(app_url: str, endpoint: str, **arguments: Any) -> Any:
    """Call an endpoint over HTTP: POST returns the ID of an event, GET streams its result."""
    base = f"{app_url}gradio_api/call"
    event = json.loads(_curl(f"{base}/v2{endpoint}", json.dumps(arguments)))["event_id"]
    stream = _curl(f"{base}{endpoint}/{event}")
    assert stream.startswith("event: complete\n"), stream[:200]
    (answer,) = json.loads(stream.split("data: ", 1)[1])
    return answer


def _curl(address: str, body: str | None = None) -> str:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    posted = ["-H", "Content-Type: application/json", "-d", body] if body is not None else []
    process = subprocess.run(
        ["curl", "-sSN", "--fail", "--noproxy", "*", *posted, address],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=TIMEOUT,
    )
    return process.stdout


def through_mcp(app_url: str, endpoint: str, **arguments: Any) -> Any:
    """Call an endpoint's MCP tool with a client of the protocol, for the whole answer."""
    answer = json.loads(mcp_text(app_url, endpoint, details=True, **arguments))
    return answer


def mcp_text(app_url: str, endpoint: str, **arguments: Any) -> str:
    """Return the text that an MCP tool answers; it says itself whether that is a failure."""

    async def ask(session: ClientSession) -> str:
        result = await session.call_tool(endpoint.removeprefix("/"), arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert result.isError == ("error" in json.loads(content.text)), content.text
        return content.text

    return _in_session(app_url, ask)


def mcp_tools(app_url: str) -> dict[str, Tool]:
    """List the MCP tools by name."""

    async def ask(session: ClientSession) -> dict[str, Tool]:
        return {tool.name: tool for tool in (await session.list_tools()).tools}

    return _in_session(app_url, ask)


def _in_session(app_url: str, ask: Callable[[ClientSession], Awaitable[T]]) -> T:
    async def talk() -> T:
        async with _session(app_url) as session:
            await session.initialize()
            return await ask(session)

    return anyio.run(talk)


@asynccontextmanager
async def _session(app_url: str) -> AsyncIterator[ClientSession]:
    """Yield a session that has not begun."""
    async with (
        streamable_http_client(f"{app_url}gradio_api/mcp/") as (read, write, _),
        ClientSession(read, write) as session,
    ):
        yield session


def named_endpoints(app_url: str) -> set[str]:
    """Return the names of the public endpoints from the application's own description."""
    info = requests.get(f"{app_url}gradio_api/info", timeout=TIMEOUT).json()
    return {name.removeprefix("/") for name in info["named_endpoints"]}
