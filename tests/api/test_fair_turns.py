"""A visitor's heavy questions wait behind other visitors' light ones, through every door.

The heavy ones compute until a test releases them: whatever is answered before has not waited for
the end of one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
import requests
from requests.adapters import HTTPAdapter

from gpusizer.core.cpu_limiter import OF_ONE_VISITOR
from tests.heavy import BEGUN, HEAVY, LIGHT, RELEASED, fields_of
from tests.running_app import running_app

QUESTIONS = 20
_SECONDS = 120
_numbers = count(2)


class Visitor:
    """Somebody with an address, who asks through every door."""

    def __init__(self, url: str, address: str | None = None) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.mount("http://", _From(address or f"127.0.3.{next(_numbers)}"))

    def get(self, path: str, **fields: object) -> requests.Response:
        return self.session.get(f"{self.url}{path}", params=dict(fields), timeout=_SECONDS)

    def post(self, path: str, body: object, **headers: str) -> requests.Response:
        return self.session.post(f"{self.url}{path}", json=body, headers=headers, timeout=_SECONDS)

    def ask(self, door: str, model: str) -> None:
        """Ask about a model and wait for the answer, which must be one."""
        assert '"error"' not in DOORS[door](self, model)[:200]


class _From(HTTPAdapter):
    """Connections from an address of loopback."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *sizes: Any, **options: Any) -> None:
        super().init_poolmanager(*sizes, source_address=(self._address, 0), **options)


def _plainly(visitor: Visitor, model: str) -> str:
    answer = visitor.get("v1/size", **fields_of(model))
    assert answer.status_code == 200, answer.text
    return answer.text


def _by_badge(visitor: Visitor, model: str) -> str:
    answer = visitor.get("v1/badge", model=model, gpu="4090", quant="native")
    assert answer.status_code == 200 and answer.json()["isError"] is False
    return ""


def _by_gradio(visitor: Visitor, model: str) -> str:
    event = call(visitor, model).json()["event_id"]
    stream = visitor.get(f"gradio_api/call/size_model/{event}").text
    assert "event: complete" in stream
    return stream.split("data: ")[-1]


def call(visitor: Visitor, model: str) -> requests.Response:
    """Call Gradio's endpoint."""
    return visitor.post("gradio_api/call/v2/size_model", fields_of(model))


def _by_mcp(visitor: Visitor, model: str) -> str:
    asked = {"name": "size_model", "arguments": fields_of(model)}
    answer = visitor.post(
        "gradio_api/mcp/",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked},
        accept="application/json, text/event-stream",
    )
    result = json.loads(answer.text.split("data: ")[-1])["result"]
    return str(result["content"][0]["text"])


def _by_page(visitor: Visitor, model: str) -> str:
    session = join(visitor, model)
    shown = visitor.get("en/gradio_api/queue/data", session_hash=session).text
    assert '"msg":"process_completed"' in shown and '"success":true' in shown
    assert model in shown
    return ""


def join(visitor: Visitor, model: str) -> str:
    """Press the button of the size tab; return the name of the page's session."""
    session = uuid4().hex
    assert press(visitor, model, session).status_code == 200
    return session


def press(visitor: Visitor, model: str, session: str = "") -> requests.Response:
    number, fields = size_form(visitor.url)
    stated = {"gs-model": model, "gs-size-wishes": json.dumps([["ask", ""]])}
    values = [stated.get(name, usual) for name, usual in fields]
    body = {"data": values, "fn_index": number, "session_hash": session or uuid4().hex}
    return visitor.post("en/gradio_api/queue/join", body)


@cache
def size_form(url: str) -> tuple[int, list[tuple[str, Any]]]:
    """Return the number of the listener, and its input: elements by their ID with their values."""
    page = Visitor(url).get("en/config").json()
    listener = next(d for d in page["dependencies"] if d["api_name"] == "ui_size_en")
    parts = {part["id"]: part["props"] for part in page["components"]}
    inputs = [parts[number] for number in listener["inputs"]]
    return listener["id"], [(str(part.get("elem_id")), part.get("value")) for part in inputs]


DOORS: Mapping[str, Callable[[Visitor, str], str]] = {
    "v1": _plainly,
    "badge": _by_badge,
    "gradio": _by_gradio,
    "mcp": _by_mcp,
    "page": _by_page,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("fair"), GPUSIZER_METRICS="1") as app:
        yield app.url


@pytest.fixture
def light(url: str) -> Visitor:
    return Visitor(url)


class Group:
    """Heavy questions of one visitor, which end when they are released."""

    def __init__(self, url: str, name: str, pool: ThreadPoolExecutor) -> None:
        self.visitor = Visitor(url)
        self.name = name
        self._pool = pool
        self._operator = Visitor(url)
        self._models = (f"{HEAVY}{name}-{number}" for number in count())
        self.asked: list[Future[None]] = []

    @property
    def begun(self) -> int:
        """How many are worked on, or have been."""
        error = self._operator.get("v1/size", **fields_of(BEGUN + self.name)).json()["error"]
        return int(error["retry_after_seconds"])

    def next(self) -> str:
        return next(self._models)

    def ask(self, door: str) -> None:
        """Ask many, and wait until as many are worked on as may be."""
        for _ in range(QUESTIONS):
            visitor, model = Visitor(self.visitor.url, self._address), self.next()
            self.asked.append(self._pool.submit(visitor.ask, door, model))
        self.wait()

    def wait(self) -> None:
        for _ in range(10_000):
            if self.begun >= OF_ONE_VISITOR:
                return
        pytest.fail("nothing is worked on")

    def release(self) -> None:
        self._operator.get("v1/size", **fields_of(RELEASED + self.name))

    @property
    def _address(self) -> str:
        adapter = self.visitor.session.get_adapter("http://")
        assert isinstance(adapter, _From)
        return adapter._address


@contextmanager
def heavy(url: str) -> Iterator[Group]:
    """Yield a group that is released at the end."""
    with ThreadPoolExecutor(2 * QUESTIONS) as pool:
        group = Group(url, uuid4().hex, pool)
        try:
            yield group
        finally:
            group.release()


@pytest.mark.parametrize("door", DOORS)
def test_light_questions_pass_through_every_door(url: str, light: Visitor, door: str) -> None:
    with heavy(url) as group:
        group.ask(door)
        for other in DOORS:
            light.ask(other, f"{LIGHT}{door}-{other}")
        assert light.get("healthz").json()["ready"]
        assert light.get("style.css").status_code == 200
        assert not any(question.done() for question in group.asked)
        assert group.begun == OF_ONE_VISITOR, "before the third of twenty"
        group.release()
        for question in group.asked:
            question.result(_SECONDS)
        assert group.begun == QUESTIONS


def test_a_tool_is_called_once(url: str) -> None:
    """Gradio's own way would call the endpoint over HTTP, in the name of this machine."""
    visitor = Visitor(url)
    before = requests_of(visitor)
    calls = before.get("/gradio_api/mcp/", 0)
    visitor.ask("mcp", f"{LIGHT}tool")
    after = before
    end = time.monotonic() + _SECONDS
    while after.get("/gradio_api/mcp/", 0) == calls and time.monotonic() < end:
        after = requests_of(visitor)  # a request is counted once it has ended
    assert after["/gradio_api/mcp/"] == calls + 1
    assert after.keys() - {"/metrics"} == before.keys() | {"/gradio_api/mcp/"} - {"/metrics"}


def requests_of(visitor: Visitor) -> dict[str, int]:
    """How many requests came by each route."""
    lines = visitor.get("metrics").text.splitlines()
    counts: dict[str, int] = {}
    for line in lines:
        if line.startswith("gpusizer_http_requests_total{"):
            route = line.split('route="')[1].split('"')[0]
            counts[route] = counts.get(route, 0) + int(float(line.split()[-1]))
    return counts


@pytest.mark.parametrize("calls", [call, press])
def test_of_one_visitor_few_may_wait(
    url: str, light: Visitor, calls: Callable[[Visitor, str], requests.Response]
) -> None:
    """Calls that were just made are not in the line yet, so that some more may be allowed."""
    with heavy(url) as group:
        answers = []
        while len(answers) < 60 and (not answers or answers[-1].status_code == 200):
            answers.append(calls(group.visitor, group.next()))
        refusal = answers[-1]
        assert refusal.status_code == 429 and 34 < len(answers) < 60
        assert refusal.json()["error"]["reason"] == "under_way"
        assert refusal.json()["detail"] == refusal.json()["error"]["message"]
        assert refusal.headers["retry-after"] == "5"
        for path in ("v1/size", "v1/badge"):
            assert group.visitor.get(path, **fields_of(f"{LIGHT}x")).status_code == 429
        for door in DOORS:
            light.ask(door, f"{LIGHT}{calls.__name__}-{door}")
        group.wait()
        assert group.begun == OF_ONE_VISITOR
