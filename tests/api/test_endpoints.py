"""The public endpoints of a running application, as programs call them."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests
from gradio_client import Client

from gpusizer.ui.presenters.frame import CURL_EXAMPLE, ORIGIN, PYTHON_EXAMPLE
from tests.api.transports import TIMEOUT, call
from tests.hostile import BROKEN_MODEL, VISITORS_MODEL, VISITORS_TOKEN
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


@pytest.mark.parametrize(
    ("endpoint", "body", "field"),
    [
        ("size_model", {"model": LLAMA, "contxt": 1}, "contxt"),
        ("size_model", {}, "model"),
        ("models_for_gpu", {"top": 3}, "gpu"),
        ("sise_model", {"model": LLAMA}, "endpoint"),
    ],
)
def test_wrong_names_by_http(app_url: str, endpoint: str, body: Any, field: str) -> None:
    address = f"{app_url}gradio_api/call/v2/{endpoint}"
    answer = requests.post(address, json=body, timeout=TIMEOUT)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
