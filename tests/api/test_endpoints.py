"""Endpoints by Gradio's client, HTTP and MCP: documented, refused, closed."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests
from gradio_client import Client

from gpusizer.ui.presenters.pieces.frame import CURL_EXAMPLE, ORIGIN, PYTHON_EXAMPLE
from gpusizer.ui.server.short_answers import MAX_CHARACTERS
from tests.api.transports import (
    TIMEOUT,
    call,
    mcp_text,
    mcp_tools,
    named_endpoints,
)
from tests.hostile import BROKEN_MODEL, VISITORS_MODEL, VISITORS_TOKEN
from tests.nightly import paired
from tests.running_app import RunningApp

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def code(answer: dict[str, Any]) -> str:
    assert answer["schema_version"] == 1
    assert answer["error"]["message"]
    return str(answer["error"]["code"])


@pytest.mark.parametrize("name", ["", "model.safetensors", "m.gguf"])
def test_a_path_of_the_machine_is_no_model(client: Client, name: str, tmp_path: Path) -> None:
    """Only the shell reads checkpoints on disk; a request over the network never opens a path."""
    header = json.dumps({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}).encode()
    for file in ("model.safetensors", "m.gguf"):
        (tmp_path / file).write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    path = str(tmp_path / name)
    compared = {"gpus": ["4090"], "model": path}
    assert code(call(client, "/size_model", path)) == "invalid_model_id"
    assert code(call(client, "/train_model", path)) == "invalid_model_id"
    assert code(call(client, "/compare_gpus", **compared)) == "invalid_model_id"
    listed = call(client, "/models_for_gpu", gpu="4090", options={"models": path})
    assert code(listed) == "invalid_model_id"


@pytest.mark.parametrize("endpoint", ["/size_model", "/compare_gpus"])
def test_a_visitors_token_reads_for_that_visitor_alone(
    client: Client, app_url: str, app: RunningApp, endpoint: str
) -> None:
    arguments = {"model": VISITORS_MODEL} | (
        {"gpus": ["4090"]} if endpoint == "/compare_gpus" else {}
    )
    visitors_client = Client(app_url, verbose=False, oauth_token=VISITORS_TOKEN)
    try:
        assert "error" not in call(visitors_client, endpoint, **arguments)
        assert code(call(client, endpoint, **arguments)) == "hub_unreachable"
        assert "error" not in call(visitors_client, endpoint, **arguments)
    finally:
        visitors_client.close()
    assert VISITORS_TOKEN not in app.log.read_text("utf-8")


def test_a_bug_is_logged_and_answered(client: Client, app: RunningApp) -> None:
    answer = call(client, "/size_model", BROKEN_MODEL)
    assert code(answer) == "internal"
    assert "a bug" not in json.dumps(answer)
    assert '"type": "RuntimeError"' in app.log.read_text("utf-8")


def test_the_python_example_runs(app_url: str) -> None:
    """The code example of the page runs against this application."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(PYTHON_EXAMPLE.replace(ORIGIN, app_url.rstrip("/")), {})
    lines = printed.getvalue().splitlines()
    assert "8190735360" in lines
    assert lines[-2].startswith("1 rtx-4090-24gb fits ")
    assert lines[-1].startswith("2 rtx-3090-24gb fits ")


def test_the_curl_example_runs(app_url: str) -> None:
    script = CURL_EXAMPLE.replace(ORIGIN, app_url.rstrip("/"))
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=TIMEOUT)
    if "not found" in process.stderr:
        pytest.skip("curl is not installed")
    assert "event: complete" in process.stdout
    assert "8190735360" in process.stdout


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
    "/list_gpus": ({}, "gpus", 10),
}


@pytest.mark.parametrize("tool", SHORT)
def test_a_tool_answers_as_much_as_an_agent_reads(app_url: str, tool: str) -> None:
    """Words are equal with and without `top`; omitted rows are counted."""
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


def test_its_question_goes_along(app_url: str) -> None:
    asked = f"{app_url}pt/?model=Qwen/Qwen3-8B&gpu=2x3090"
    answer = requests.get(asked, timeout=TIMEOUT, allow_redirects=False)
    assert answer.headers["location"] == "/pt?model=Qwen/Qwen3-8B&gpu=2x3090"


@pytest.mark.parametrize(
    "page, query, shown",
    [
        ("", "lang=zh&model=Qwen/Qwen3-8B&gpu=2x3090", "zh?model=Qwen/Qwen3-8B&gpu=2x3090"),
        ("", "lang=PT-br", "pt"),
        ("zh", "gpus=4090&lang=en", "?gpus=4090"),
        ("pt", "lang=en&lang=zh", "zh"),
        ("", "lang=fr", "?lang=fr"),
        ("", "lang=en", "?lang=en"),
        ("zh", "lang=//example.org", "zh?lang=//example.org"),
    ],
)
def test_an_address_leads_to_the_language_that_it_names(
    app_url: str, page: str, query: str, shown: str
) -> None:
    answer = requests.get(f"{app_url}{page}?{query}", timeout=TIMEOUT)
    assert answer.status_code == 200 and answer.url == f"{app_url}{shown}"


def test_the_stylesheet_is_cached_under_an_address_of_its_version(app_url: str) -> None:
    page = requests.get(app_url, timeout=TIMEOUT).text
    link = re.search(r"style\.css\?v=[0-9a-f]{12}", page)
    assert link is not None
    answer = requests.get(app_url + link[0], timeout=TIMEOUT)
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    assert "#gs-answer" in answer.text


PAGES = ("", "en/", "zh/", "pt/")


@pytest.mark.parametrize("page", PAGES)
def test_nobody_uploads_a_file(app_url: str, page: str) -> None:
    address = f"{app_url}{page}gradio_api/upload"
    answer = requests.post(address, files={"files": ("a.txt", b"text")}, timeout=TIMEOUT)
    assert answer.status_code == 404
    assert "a.txt" not in answer.text


PATHS = (
    "gradio_api/file=/etc/hostname",
    "gradio_api/file=http://127.0.0.1:9/",
    "gradio_api/proxy=http://127.0.0.1:9/",
    "gradio_api/deep_link?session_hash=a",
    "gradio_api/runs",
    "monitoring",
    "monitoring/summary",
)


@pytest.mark.parametrize(("page", "path"), paired(PAGES, PATHS))
def test_nothing_is_read_or_asked_for_others(app_url: str, page: str, path: str) -> None:
    answer = requests.get(app_url + page + path, timeout=TIMEOUT, allow_redirects=False)
    assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})


def test_an_unknown_session_has_no_stream(app_url: str) -> None:
    address = f"{app_url}gradio_api/queue/data"
    answer = requests.get(address, params={"session_hash": "guessed"}, timeout=TIMEOUT)
    assert (answer.status_code, code(answer.json())) == (404, "unknown_event")
