"""What programs find besides the endpoints: MCP tools, llms.txt, a health check."""

from __future__ import annotations

import pytest
import requests

from tests.api.transports import TIMEOUT, mcp_tools, named_endpoints


def test_every_endpoint_is_a_tool_that_says_what_it_takes(app_url: str) -> None:
    tools = mcp_tools(app_url)
    assert set(tools) == named_endpoints(app_url)
    schema = tools["size_model"].inputSchema["properties"]
    assert schema["model"]["description"].startswith("Model ID or Hub URL")
    assert schema["context"]["default"] == 8192


@pytest.mark.parametrize("text", ["/gradio_api/mcp/", "`model` (str): Model ID or Hub URL"])
def test_llms_txt(app_url: str, text: str) -> None:
    answer = requests.get(f"{app_url}llms.txt", timeout=TIMEOUT)
    assert answer.headers["content-type"].startswith("text/plain")
    assert text in answer.text
    for name in named_endpoints(app_url):
        assert f"### /{name}\n" in answer.text


def test_health(app_url: str) -> None:
    assert requests.get(f"{app_url}healthz", timeout=TIMEOUT).text == "ok\n"
