"""Bodies that are large, slow or many, over sockets: refused in time, within a bound of memory."""

from __future__ import annotations

import json
import select
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gpusizer.ui.server.doors.body_budget import ALL_BYTES, VISITORS_BYTES, BodyBudget
from gpusizer.ui.server.doors.request_limits import MAX_BODY_BYTES, MAX_LOG_BYTES
from tests.space import HOST, Space, running_space

JOIN, CALL = "/zh/gradio_api/queue/join", "/gradio_api/call/size_model"
MOST_BYTES = 64_000_000
TIMEOUT = 60


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """Yield the application, which waits three seconds for a body."""
    with running_space(tmp_path_factory.mktemp("hasty"), BODY_SECONDS="3") as running:
        yield running


def begun(space: Space, path: str, length: int, visitor: str = "203.0.113.1") -> socket.socket:
    """Return a connection over which the head of a call has been sent."""
    address = urlsplit(space.url)
    connection = socket.create_connection((address.hostname, address.port), TIMEOUT)
    head = (
        f"POST {path} HTTP/1.1",
        f"host: {HOST}",
        f"x-forwarded-for: {visitor}",
        "content-type: application/json",
        f"content-length: {length}",
    )
    connection.sendall("\r\n".join((*head, "", "")).encode())
    return connection


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], str]:
    """Status, headers and the rest of what is answered, until the server closes."""
    with connection.makefile("rb") as file:
        head, _, rest = file.read().decode().partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, rest


def status_now(connection: socket.socket) -> int:
    """Return the status of an answer, whose rest is not read."""
    return int(connection.recv(64).split()[1])


def memory_bytes(space: Space) -> int:
    """How much memory the application has."""
    status = Path(f"/proc/{space.pid}/status").read_text("utf-8")
    return 1024 * int(next(line for line in status.splitlines() if "VmRSS" in line).split()[1])


def log_body(space: Space, size: int, name: str = "ui_log_zh") -> bytes:
    """Return a call of a listener of a page with a log so large, in bytes of its body."""
    function = next(f for f in space.functions if f.name == name)
    values = ["" for _ in function.values]
    body = {"data": values, "fn_index": function.number, "session_hash": "bodies"}
    values[0] = "x" * (size - len(json.dumps(body)))
    return json.dumps(body).encode()


@pytest.mark.parametrize(("path", "most"), [(CALL, MAX_BODY_BYTES), (JOIN, MAX_LOG_BYTES)])
def test_a_body_is_announced_too_large(hasty: Space, path: str, most: int) -> None:
    with begun(hasty, path, most + 1) as connection:
        assert status_now(connection) == 413


def test_a_log_alone_may_be_large(space: Space) -> None:
    """The listeners of a page are called at one address."""
    for name, status in (("ui_log_zh", 200), ("ui_catalogue_zh", 413)):
        body = log_body(space, MAX_LOG_BYTES, name)
        assert len(body) == MAX_LOG_BYTES
        answer = space.ask("POST", JOIN, data=body, headers={"content-type": "application/json"})
        assert answer.status_code == status, name
    space.wait_for_answer("/zh", "bodies")


@pytest.mark.parametrize("sent", [0, 1, 200_000])
def test_a_body_that_does_not_come_is_not_waited_for(hasty: Space, sent: int) -> None:
    with begun(hasty, CALL, 250_000) as connection:
        connection.sendall(bytes(sent))
        status, headers, rest = answer_of(connection)
    assert (status, headers["connection"]) == (408, "close")
    assert json.loads(rest)["error"]["code"] == "request_too_slow"


def test_a_stream_of_events_is_no_slow_body(hasty: Space) -> None:
    with hasty.ask("GET", "/gradio_api/heartbeat/bodies") as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line) == b"data: ALIVE"
        with begun(hasty, CALL, 10) as connection:
            assert answer_of(connection)[0] == 408
        assert hasty.ask("GET", "/healthz").status_code == 200
        assert not answer.raw.closed


def unfinished(space: Space, path: str, size: int, visitors: list[str], refused: int) -> None:
    """Send bodies without their last byte, one of each visitor, all at a time.

    Exactly `refused` of them have to be refused.
    """
    with ExitStack() as stack:

        def send(visitor: str) -> socket.socket:
            connection = stack.enter_context(begun(space, path, size, visitor))
            connection.sendall(b" " * (size - 1))
            return connection

        before = memory_bytes(space)
        with ThreadPoolExecutor(4) as pool:
            waiting = {*pool.map(send, visitors)}
        statuses = Counter[int]()
        while statuses[503] < refused:
            answered, _, _ = select.select(waiting, [], [], TIMEOUT)
            statuses[status_now(answered[0])] += 1
            waiting.remove(answered[0])
        assert space.ask("GET", "/healthz").status_code == 200
        statuses.update(status_now(late) for late in select.select(waiting, [], [], 0)[0])
        assert statuses[503] == refused
        assert {*statuses} <= {503, 408}, "those that have room are late at most"
        assert memory_bytes(space) - before < MOST_BYTES
        # The next test has the whole budget once the server has closed what waits.
        for connection in waiting:
            connection.shutdown(socket.SHUT_WR)
        for connection in waiting:
            while connection.recv(1024):
                pass


def test_unfinished_logs_of_one_visitor(space: Space) -> None:
    allowed = VISITORS_BYTES // MAX_LOG_BYTES
    unfinished(space, JOIN, MAX_LOG_BYTES, ["203.0.113.2"] * 12, 12 - allowed)


def test_unfinished_logs_of_many_visitors(space: Space) -> None:
    visitors = [f"203.0.113.{number}" for number in range(20, 50)]
    unfinished(space, JOIN, MAX_LOG_BYTES, visitors, 30 - ALL_BYTES // MAX_LOG_BYTES)


def test_unfinished_calls_of_many_visitors(space: Space) -> None:
    visitors = [f"203.0.{100 + number % 2}.{number}" for number in range(160)]
    unfinished(space, CALL, MAX_BODY_BYTES, visitors, 160 - ALL_BYTES // MAX_BODY_BYTES)
    assert space.ask("POST", CALL, json={"data": []}).status_code == 422, "there is room again"


def test_what_waits_elsewhere_counts() -> None:
    budget = BodyBudget(lambda: ALL_BYTES - 10)
    assert budget.take("a", 10) and not budget.take("b", 1)
    budget.give_back("a", 10)
    assert budget.take("b", 10)
