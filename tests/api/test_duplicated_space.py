"""A duplicated Space has no secrets: it starts with OAuth's variables alone, and answers; what it
keeps of calls is bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.work_pool import PLACES
from tests.running_app import ROOT

ON_A_SPACE = {
    "SYSTEM": "spaces",
    "SPACE_ID": "org/space",
    "OAUTH_CLIENT_ID": "client",
    "OAUTH_CLIENT_SECRET": "secret",
    "OAUTH_SCOPES": "openid profile gated-repos",
    "OPENID_PROVIDER_URL": "http://127.0.0.1:9",
}
CALLS = PLACES + 8
STREAMS = 32
_ASK = f"""
import json, os, requests
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
from gradio.routes import App
made, create = [], App.create_app
App.create_app = staticmethod(lambda *given, **named: made.append(1) or create(*given, **named))
from gpusizer.composition.server import compose_from_environment
application = compose_from_environment()
from gpusizer.ui.serving import launch
from tests.ports import free_port
url = launch(application, quiet=True, server_name="127.0.0.1", server_port=free_port())
size = requests.get(f"{{url}}v1/size?model=Qwen/Qwen3-8B&top=1").json()
unknown = requests.get(f"{{url}}v1/size?model=nobody/nothing").json()
page = requests.get(f"{{url}}zh")
badge = requests.get(f"{{url}}v1/badge?model=Qwen/Qwen3-8B&gpu=4090").json()
session = {{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}
accepted = {{"accept": "application/json, text/event-stream"}}
listed = requests.post(f"{{url}}gradio_api/mcp/", json=session, headers=accepted).text
tools = json.loads(listed.split("data: ")[1])["result"]["tools"]
named = requests.get(f"{{url}}gradio_api/info").json()["named_endpoints"]
llms = requests.get(f"{{url}}llms.txt").text
metrics = requests.get(f"{{url}}metrics").status_code
names = [tool["name"] for tool in tools]
blocks = [*application.pages.values(), application.endpoints]
targets = [
    listener["js"].split("huggingface?_target_url=")[1].split("'")[0]
    for page in blocks
    for listener in page.config["dependencies"]
    if "/login/huggingface" in str(listener["js"])
]
shown = [c["props"].get("elem_id") for page in blocks for c in page.config["components"]]
layers = [layer.cls.__name__ for layer in application.endpoints.app.user_middleware]
print(json.dumps([shown.count("gs-sign-in"), targets, layers]))
print(json.dumps([names, list(named), "_check_login" in llms, len(made)]))
print(json.dumps([size["ranking"][0]["verdict"], unknown["error"]["code"], page.status_code,
                  metrics, badge["color"]]), flush=True)
for _ in range({CALLS}):
    calls = url + "gradio_api/call"
    event = requests.post(calls + "/v2/list_gpus", json={{"query": "4090"}}).json()["event_id"]
    assert "event: complete" in requests.get(calls + "/list_gpus/" + event).text
config = requests.get(url + "en/config").json()
names = next(each["id"] for each in config["dependencies"] if each["api_name"] == "ui_names_en")
call = {{"data": [], "fn_index": names, "session_hash": "a"}}
requests.post(url + "en/gradio_api/queue/join", json=call)
assert "process_completed" in requests.get(url + "en/gradio_api/queue/data?session_hash=a").text
sessions = [
    session
    for page in (application.endpoints, application.pages["en"])
    for session in page.state_holder.session_data.values()
]
print(json.dumps({{
    "sessions": len(sessions),
    "described": sum(len(list(session.components)) for session in sessions),
    "capacities": [page.state_holder.capacity for page in blocks],
}}), flush=True)
streams = [
    requests.get(url + "gradio_api/heartbeat/a", stream=True) for _ in range({STREAMS} + 1)
]
print(json.dumps([stream.status_code for stream in streams]), flush=True)
os._exit(0)  # Gradio's threads go on
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Return the output of the process.

    No token is in its environment; no server listens at its address of the Hub.
    """
    tmp_path = tmp_path_factory.mktemp("space")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "GRADIO_TEMP_DIR": str(tmp_path),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        **ON_A_SPACE,
    }
    process = subprocess.run(
        [sys.executable, "-c", _ASK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return [json.loads(line) for line in process.stdout.splitlines()[-5:]]


def test_it_starts_and_answers_without_secrets_and_without_the_hub(told: list[Any]) -> None:
    """It offers to sign in on every page, and the layer that reads the signed session is outside of
    the one that counts questions."""
    offered, targets, layers = told[0]
    assert (offered, targets) == (4, ["/", "/zh", "/pt", "/endpoints"])
    assert layers.index("SessionMiddleware") < layers.index("VisitorLimits")
    names = [endpoint.name for endpoint in PUBLIC]
    assert told[1] == [names, [f"/{name}" for name in names], False, 9]
    assert told[2] == ["fits", "hub_unreachable", 200, 404, "brightgreen"]


def test_calls_leave_few_and_small_sessions(told: list[Any]) -> None:
    """A call describes no component of a page, and only the latest calls stay in memory."""
    sessions = PLACES + 1  # of the endpoints, and one of a page
    assert CALLS > PLACES
    assert told[3] == {"sessions": sessions, "described": 0, "capacities": [PLACES] * 4}


def test_a_visitor_has_so_many_streams(told: list[Any]) -> None:
    assert told[4] == [200] * STREAMS + [503]
