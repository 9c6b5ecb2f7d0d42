"""One launched application for every test that needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.redis_server import RedisServer, need_redis

ROOT = Path(__file__).resolve().parents[1]

_EVALUATE_MEASUREMENTS = ("test_accuracy", "test_publication", "test_throughput")
"""Test modules that ask about every row of `data/measurements`, which takes half a minute."""

# By default Hypothesis fails an example that takes 200 ms; on a busy machine any example may.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--screenshots` saves pictures of the pages that tests of the browser open."""
    parser.addoption("--screenshots", action="store_true", help="save pages in artifacts/")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A worker takes whole files; one worker takes all that evaluate the measurements."""
    for item in items:
        name = item.path.stem
        group = "measurements" if name in _EVALUATE_MEASUREMENTS else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


@dataclass(frozen=True)
class RunningApp:
    """The address of the running application, and its log so far."""

    url: str
    log: Path


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """`python -m tests.serve`, stopped after the last test."""
    folder = tmp_path_factory.mktemp("app")
    log = folder / "stderr.txt"
    environment = {
        **os.environ,
        "GRADIO_TEMP_DIR": str(folder),
        "HF_HUB_OFFLINE": "1",
        "GPUSIZER_METRICS": "1",
        # All tests ask from one address; tests/api/test_visitor_limits.py has a limit of its own.
        "GPUSIZER_QUESTIONS_PER_MINUTE": "off",
    }
    with log.open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.serve"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    with process:
        assert process.stdout
        # Gradio prints a line about its MCP server first, even with `quiet`.
        url = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        if not url:
            process.kill()
            pytest.fail(f"the application did not start:\n{log.read_text('utf-8')}")
        yield RunningApp(url, log)
        process.terminate()


@pytest.fixture(scope="session")
def app_url(app: RunningApp) -> str:
    """Address of the running application, with a slash at its end."""
    return app.url


@pytest.fixture(scope="session")
def _redis_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    need_redis()
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_url(_redis_of_session: RedisServer) -> str:
    """The address of a Redis with nothing in it."""
    with _redis_of_session.client as client:
        client.flushall()
    return _redis_of_session.url
