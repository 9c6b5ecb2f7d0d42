"""MCP tools, llms.txt and headers of pages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import requests

from gpusizer.ui.short_answers import MAX_CHARACTERS
from tests.api.transports import TIMEOUT, mcp_text, mcp_tools, named_endpoints


def test_every_endpoint_is_a_tool_with_described_fields(app_url: str) -> None:
    tools = mcp_tools(app_url)
    assert set(tools) == named_endpoints(app_url)
    schema = tools["size_model"].inputSchema["properties"]
    assert schema["model"]["description"].startswith("Model ID or Hub URL")
    assert schema["context"]["default"] == 8192
    assert schema["top"]["default"] == 5
    fields = [tool.inputSchema["properties"] for tool in tools.values()]
    assert all(properties["details"]["default"] is False for properties in fields)


SHORT: dict[str, tuple[dict[str, Any], str, int]] = {
    "/size_model": ({"model": "Qwen/Qwen3-8B"}, "ranking", 5),
    "/train_model": ({"model": "Qwen/Qwen3-8B"}, "ranking", 5),
    "/list_gpus": ({}, "gpus", 10),
    "/compare_gpus": ({"gpus": ["4090", "3090"], "model": "Qwen/Qwen3-8B"}, "gpus", 2),
    "/models_for_gpu": ({"gpu": "4090"}, "models", 10),
}


@pytest.mark.parametrize("tool", SHORT)
def test_a_tool_answers_as_much_as_an_agent_reads(app_url: str, tool: str) -> None:
    """The same words without `top` and with it; what is left out is counted."""
    arguments, rows, count = SHORT[tool]
    text = mcp_text(app_url, tool, **arguments)
    assert len(text) <= MAX_CHARACTERS
    answer = json.loads(text)
    assert len(answer[rows]) == count
    two = json.loads(mcp_text(app_url, tool, **arguments, top=2))
    assert two[rows] == answer[rows][:2]
    if tool == "/list_gpus":
        assert two["gpus_left_out"] == two["count"] - 2
        whole = json.loads(mcp_text(app_url, tool, top=2, details=True))
        assert len(whole["gpus"]) == 2 and whole["gpus"][0]["sources"]


@pytest.mark.parametrize("text", ["/gradio_api/mcp/", "`model` (str): Model ID or Hub URL"])
def test_llms_txt(app_url: str, text: str) -> None:
    answer = requests.get(f"{app_url}llms.txt", timeout=TIMEOUT)
    assert answer.headers["content-type"].startswith("text/plain")
    assert text in answer.text
    for name in named_endpoints(app_url):
        assert f"### /{name}\n" in answer.text


@pytest.mark.parametrize("path", ["", "zh", "pt"])
def test_pages_are_compressed_and_leave_the_endpoints_out(app_url: str, path: str) -> None:
    answer = requests.get(f"{app_url}{path}", timeout=TIMEOUT)
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 40_000
    assert "size_model" not in answer.text.split("window.gradio_api_info")[1]


def test_an_address_with_a_slash_at_its_end_is_redirected(app_url: str) -> None:
    answer = requests.get(f"{app_url}zh/", timeout=TIMEOUT, allow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (301, "/zh")


def test_the_stylesheet_is_cached_under_an_address_of_its_version(app_url: str) -> None:
    page = requests.get(app_url, timeout=TIMEOUT).text
    link = re.search(r"style\.css\?v=[0-9a-f]{12}", page)
    assert link is not None
    answer = requests.get(app_url + link[0], timeout=TIMEOUT)
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    assert "#gs-form" in answer.text
