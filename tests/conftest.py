"""One launched application for every test that needs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gradio_client import Client
from hypothesis import HealthCheck, settings

from tests.nightly import NIGHTLY
from tests.redis_server import RedisServer, need_redis
from tests.running_app import RunningApp, running_app

_SLOWEST_FIRST = (
    "test_accuracy",  # asks about every row of `data/measurements`
    "test_soak",  # at night for half an hour
    "browser",
    "api",
    "answers",
    "test_any_answer",
)

# By default Hypothesis fails an example that takes 200 ms; on a busy machine any example may. What
# gates a change is asked with the same few examples each time, more and new ones are for the night.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not NIGHTLY,
    max_examples=100 if NIGHTLY else 30,
    print_blob=True,
)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--screenshots` saves pictures of the pages that tests of the browser open."""
    parser.addoption("--screenshots", action="store_true", help="save pages in artifacts/")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the night's tests to the night.

    Workers take whole files; the longest begin, so that no worker ends with one alone.
    """
    if not NIGHTLY:
        at_night = [item for item in items if item.get_closest_marker("night")]
        config.hook.pytest_deselected(items=at_night)
        items[:] = [item for item in items if item not in at_night]
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    names = (item.path.stem, item.path.parent.name)
    turns = [turn for turn, name in enumerate(_SLOWEST_FIRST) if name in names]
    return min(turns, default=len(_SLOWEST_FIRST))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Event loops of asyncio alone: uvicorn's and Gradio's."""
    return "asyncio"


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """Yield the application with metrics and a log in JSON, stopped after the last test."""
    folder = tmp_path_factory.mktemp("app")
    # All tests ask from one address; other modules have applications with limits.
    limits = ("GPUSIZER_QUESTIONS_PER_MINUTE", "GPUSIZER_SECONDS_PER_MINUTE")
    settings = {"GPUSIZER_METRICS": "1", **dict.fromkeys(limits, "off")}
    with running_app(folder, GPUSIZER_LOG="json", **settings) as application:
        yield application


@pytest.fixture(scope="session")
def app_url(app: RunningApp) -> str:
    """Address of the running application, with a slash at its end."""
    return app.url


@pytest.fixture(scope="session")
def client(app_url: str) -> Iterator[Client]:
    """Gradio's client of the running application."""
    gradio_client = Client(app_url, verbose=False)
    yield gradio_client
    gradio_client.close()


@pytest.fixture(scope="session")
def _redis_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    need_redis()
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_url(_redis_of_session: RedisServer) -> str:
    """Return the address of a Redis with nothing in it."""
    with _redis_of_session.client as client:
        client.flushall()
    return _redis_of_session.url
