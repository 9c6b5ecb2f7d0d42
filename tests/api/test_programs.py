"""What programs find besides the endpoints: MCP tools, llms.txt, a health check."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import requests
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from gpusizer.text import say_note
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
TIMEOUT = 30


def through_mcp(app_url: str, tool: str | None, **arguments: Any) -> Any:
    """The tools by name, or what one of them answers to a real client of the protocol."""

    async def talk() -> Any:
        address = f"{app_url}gradio_api/mcp/"
        async with (
            streamable_http_client(address) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            if tool is None:
                return {one.name: one for one in (await session.list_tools()).tools}
            result = await session.call_tool(tool, arguments)
            (content,) = result.content
            return content.text  # type: ignore[union-attr]

    return asyncio.run(talk())


def named_endpoints(app_url: str) -> set[str]:
    info = requests.get(f"{app_url}gradio_api/info", timeout=TIMEOUT).json()
    return {name.removeprefix("/") for name in info["named_endpoints"]}


def test_every_endpoint_is_a_tool_that_says_what_it_takes(app_url: str) -> None:
    tools = through_mcp(app_url, None)
    assert set(tools) == named_endpoints(app_url)
    schema = tools["size_model"].inputSchema["properties"]
    assert schema["model"]["description"].startswith("Model ID or Hub URL")
    assert schema["context"]["default"] == 8192


def test_a_tool_answers_in_json_as_the_core_does(app_url: str) -> None:
    answer = json.loads(through_mcp(app_url, "size_model", model=LLAMA, top=3))
    expected = embedded_sizer().size({"model": LLAMA, "top": 3}).to_json(say_note)
    assert answer == json.loads(json.dumps(expected))


def test_a_tool_says_why_it_cannot_answer(app_url: str) -> None:
    answer = json.loads(through_mcp(app_url, "size_model", model="not a model"))
    assert answer["error"]["code"] == "invalid_model_id"


@pytest.mark.parametrize("text", ["/gradio_api/mcp/", "`model` (str): Model ID or Hub URL"])
def test_llms_txt(app_url: str, text: str) -> None:
    answer = requests.get(f"{app_url}llms.txt", timeout=TIMEOUT)
    assert answer.headers["content-type"].startswith("text/plain")
    assert text in answer.text
    for name in named_endpoints(app_url):
        assert f"### /{name}\n" in answer.text


def test_health(app_url: str) -> None:
    assert requests.get(f"{app_url}healthz", timeout=TIMEOUT).text == "ok\n"
