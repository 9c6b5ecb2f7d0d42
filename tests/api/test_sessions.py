"""What Gradio keeps of calls and sessions: each call over HTTP is a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gpusizer.ui.endpoints import CONCURRENCY

CALLS = CONCURRENCY + 8
_SCRIPT = f"""
import json, requests, app
application = app.compose_from_environment()
from gpusizer.ui.serving import launch
from tests.ports import free_port

url = launch(application, quiet=True, server_port=free_port())
for _ in range({CALLS}):
    calls = url + "gradio_api/call"
    event = requests.post(calls + "/v2/list_gpus", json={{"query": "4090"}}).json()["event_id"]
    assert "event: complete" in requests.get(calls + "/list_gpus/" + event).text
endpoints, pages = application.endpoints, application.pages
sessions = list(endpoints.state_holder.session_data.values())
described = [config["props"] for config in sessions[-1].config_values.values()]
print(json.dumps({{
    "sessions": len(sessions),
    "other components": sum(props["name"] != "api" for props in described),
    "characters": sum(
        len(str({{k: v for k, v in props.items() if k != "value"}})) for props in described
    ),
    "capacities": [page.state_holder.capacity for page in pages.values()],
}}))
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process of its own keeps after so many calls."""
    folder = str(tmp_path_factory.mktemp("gradio"))
    process = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "GRADIO_TEMP_DIR": folder, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    counted: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return counted


def test_calls_leave_few_and_small_sessions(counts: dict[str, Any]) -> None:
    """A call by HTTP describes no component of a page, and only the latest calls stay in memory."""
    assert 0 < counts["sessions"] <= CONCURRENCY < CALLS
    assert counts["other components"] <= 4, "the page at /endpoints"
    assert counts["characters"] < 10_000, "descriptions of parameters, without the answer"


def test_sessions_of_pages_are_bounded(counts: dict[str, Any]) -> None:
    assert counts["capacities"] == [CONCURRENCY] * 3
