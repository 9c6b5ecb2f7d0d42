"""Memory of the sessions that Gradio keeps: each call over HTTP is a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CALLS = 120
_SCRIPT = f"""
import json, requests, app
from gpusizer.ui.serving import launch
from tests.ports import free_port

url = launch(app.application, quiet=True, server_port=free_port())
for _ in range({CALLS}):
    calls = url + "gradio_api/call"
    event = requests.post(calls + "/v2/list_gpus", json={{"query": "4090"}}).json()["event_id"]
    assert "event: complete" in requests.get(calls + "/list_gpus/" + event).text
sessions = list(app.application.endpoints.state_holder.session_data.values())
described = [config["props"] for config in sessions[-1].config_values.values()]
print(json.dumps([
    len(sessions),
    sum(props["name"] != "api" for props in described),
    sum(len(str({{k: v for k, v in props.items() if k != "value"}})) for props in described),
]))
"""


def test_calls_leave_few_and_small_sessions(tmp_path: object) -> None:
    """A call by HTTP describes no component of a page, and only the latest calls stay in memory."""
    process = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "GRADIO_TEMP_DIR": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    counts = json.loads(process.stdout.splitlines()[-1])
    sessions, other_components, characters = counts
    assert 0 < sessions <= 100 < CALLS
    assert other_components <= 4, "the page at /endpoints"
    assert characters < 10_000, "descriptions of parameters, without the answer"
