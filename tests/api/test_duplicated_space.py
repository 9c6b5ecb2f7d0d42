"""A duplicated Space has no secrets: it starts with OAuth's variables alone, and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.api.test_sign_in import ON_A_SPACE
from tests.running_app import ROOT

_ASK = """
import json, os, requests, app
from gpusizer.ui.serving import launch
from tests.ports import free_port
url = launch(app.application, quiet=True, server_name="127.0.0.1", server_port=free_port())
size = requests.get(f"{url}v1/size?model=Qwen/Qwen3-8B&top=1").json()
unknown = requests.get(f"{url}v1/size?model=nobody/nothing").json()
page, badge = (requests.get(url + path) for path in ("zh", "badge?model=Qwen/Qwen3-8B&gpu=4090"))
print(json.dumps([size["ranking"][0]["verdict"], unknown["error"]["code"], page.status_code,
                  badge.headers["content-type"]]), flush=True)
os._exit(0)  # Gradio's threads go on
"""


def test_it_starts_and_answers_without_secrets_and_without_the_hub(tmp_path: Path) -> None:
    """No token is in its environment; no server listens where it is told to look for the Hub."""
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
    answered = json.loads(process.stdout.splitlines()[-1])
    assert answered == ["fits", "hub_unreachable", 200, "image/svg+xml"]
