"""`gpusizer serve` as a process: it drains when it is ended, and a mistake is one sentence."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.cli.test_cli import ENVIRONMENT, ROOT
from tests.hub_emulator import HubEmulator, llama_repo
from tests.ports import free_port, wait_for

_ANSWER_SECONDS = 120

# no server listens there: a request that takes one of these fails
_PROXIES = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "ALL_PROXY": "socks5://127.0.0.1:9",
}
_HEARTBEAT = "/gradio_api/heartbeat/visitor"


def serving(folder: Path, **variables: str) -> subprocess.Popen[str]:
    """Start `python app.py` with these variables."""
    settings = {"GRADIO_TEMP_DIR": str(folder), "GPUSIZER_CACHE_DIR": "off", **variables}
    return subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


@pytest.fixture
def hub() -> Iterator[HubEmulator]:
    with HubEmulator([llama_repo("org/slow")], latency=0.3) as emulator:
        yield emulator


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_an_answer_under_way_is_given_before_the_end(
    hub: HubEmulator, tmp_path: Path, number: signal.Signals
) -> None:
    """Among proxies that cannot be reached, on a console without Unicode."""
    port = free_port()
    with (
        serving(
            tmp_path,
            PORT=str(port),
            HF_ENDPOINT=hub.endpoint,
            GPUSIZER_CDN_ORIGINS=hub.cdn_endpoint,
            PYTHONIOENCODING="cp1252",
            **_PROXIES,
        ) as process,
        ThreadPoolExecutor(1) as pool,
    ):
        try:
            wait_for(port)
            url = f"http://127.0.0.1:{port}/v1/size?model=org/slow"
            page = requests.get(f"http://127.0.0.1:{port}/en{_HEARTBEAT}", stream=True, timeout=60)
            answer = pool.submit(requests.get, url, timeout=_ANSWER_SECONDS)
            while not hub.requests and not answer.done():
                time.sleep(0.02)
            process.send_signal(number)
            shown, _ = process.communicate(timeout=_ANSWER_SECONDS)
            assert answer.result().status_code == 200
            assert b"ALIVE" in page.content, "the stream of an open page ends as a stream does"
        finally:
            process.kill()
    assert process.returncode == 0, shown
    assert "Traceback" not in shown


def test_the_end_may_come_while_it_starts(tmp_path: Path) -> None:
    with serving(tmp_path, PORT=str(free_port()), PYTHONVERBOSE="1") as process:
        assert process.stdout is not None
        assert any("import 'gradio" in line for line in process.stdout)
        process.terminate()
        shown, _ = process.communicate(timeout=_ANSWER_SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in shown


def failing(*arguments: str, **variables: str) -> str:
    """Return the sentence of `gpusizer serve` as it ends with 2."""
    done = subprocess.run(
        [sys.executable, "-m", "gpusizer", "serve", *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT, **variables},
        capture_output=True,
        text=True,
        timeout=_ANSWER_SECONDS,
    )
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "variable, value",
    [("PORT", "abc"), ("PORT", "70000"), ("GRADIO_SERVER_PORT", "0x10"), ("PORT", "0")],
)
def test_a_port_of_the_environment_that_is_none(variable: str, value: str) -> None:
    assert variable in failing(**{variable: value})


def test_a_setting_that_cannot_be_used() -> None:
    assert "GPUSIZER_CACHE_MB" in failing(GPUSIZER_CACHE_MB="many")


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"127.0.0.1:{port}" in failing("--port", port)
