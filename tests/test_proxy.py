"""nginx by `deploy/nginx.conf` in front of a replica that answers as a test says."""

from __future__ import annotations

import http.client
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from gpusizer.ui.server.http_api import PUBLIC_CACHE
from gpusizer.ui.server.http_status import NOT_KEPT
from tests.deployment import nginx_command, nginx_configuration
from tests.ports import free_port, wait_for
from tests.replicas import VISITORS

PATH = "/v1/size?model=a/b"
_TRIES = 600


@dataclass
class Replica:
    """Its way to answer, and the visitors it saw.

    A status of 0 breaks the connection; a good answer may be kept for some time; visitors are known
    by their headers.
    """

    status: int = 200
    kept: str = NOT_KEPT
    port: int = field(default_factory=free_port)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Send the answer."""
        proto, visitor = (request.headers[f"X-Forwarded-{name}"] for name in ("Proto", "For"))
        self.seen.append((proto, visitor))
        if not self.status:
            return
        request.send_response(self.status)
        request.send_header("Cache-Control", self.kept if self.status == 200 else NOT_KEPT)
        request.send_header("Content-Length", "2")
        request.end_headers()
        request.wfile.write(b"ok")


@dataclass
class Proxy:
    """nginx, before a replica that is there and one that is not."""

    port: int
    replica: Replica

    def ask(self, path: str = PATH, headers: dict[str, str] | None = None) -> requests.Response:
        """Ask from 127.0.0.1."""
        return requests.get(f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=300)

    def until(self, status: int, cache: str) -> list[requests.Response]:
        """All answers up to the first of this status that has been found so in the cache."""
        answers = []
        for _ in range(_TRIES):
            answers.append(self.ask())
            if (answers[-1].status_code, answers[-1].headers["x-cache"]) == (status, cache):
                return answers
            time.sleep(0.05)
        pytest.fail(f"never {status} {cache}")


@contextmanager
def running(replica: Replica) -> Iterator[None]:
    """Serve as the replica."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            replica.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", replica.port), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """Yield the second replica is there, the first one is absent."""
    replica, port = Replica(), free_port()
    addresses = (f"127.0.0.1:{free_port()}", f"127.0.0.1:{replica.port}")
    command = nginx_command(nginx_configuration(tmp_path, port, addresses))
    with running(replica), subprocess.Popen(command, stderr=subprocess.DEVNULL) as nginx:
        wait_for(port)
        try:
            yield Proxy(port, replica)
        finally:
            nginx.terminate()


def test_one_replica_is_absent_and_the_scheme_is_handed_on(proxy: Proxy) -> None:
    """nginx starts and answers with the other one; https stays https."""
    for path in ("/?", PATH):
        for scheme, told in ((None, "http"), ("https", "https"), ("gopher", "http")):
            headers = {"X-Forwarded-Proto": scheme} if scheme else {}
            answer = proxy.ask(f"{path}&{scheme}", headers)
            assert (answer.status_code, answer.text) == (200, "ok")
            assert proxy.replica.seen[-1] == (told, "127.0.0.1")


def test_two_failures_of_the_only_replica_are_none_of_the_questions_after_them(
    proxy: Proxy,
) -> None:
    def status(visitor: str) -> int:
        place = {"timeout": 300, "source_address": (visitor, 0)}
        with closing(http.client.HTTPConnection("127.0.0.1", proxy.port, **place)) as connection:
            connection.request("GET", "/")
            return connection.getresponse().status

    proxy.replica.status = 0
    # One of them is sent to this replica first: their addresses differ by one.
    assert [status(visitor) for visitor in VISITORS[:2]] == [502, 502]
    proxy.replica.status = 200
    assert {status(visitor) for visitor in VISITORS} == {200}


def test_an_expired_answer_is_sent_while_it_is_asked_for_again(proxy: Proxy) -> None:
    """And no longer than the answer allows, even to those who ask all the time."""
    assert PUBLIC_CACHE == "public, max-age=300, stale-while-revalidate=60"
    proxy.replica.kept = "public, max-age=1, stale-while-revalidate=3600"
    proxy.until(200, "STALE")
    proxy.until(200, "HIT")
    proxy.replica.kept = "public, max-age=1, stale-while-revalidate=1"
    proxy.until(200, "STALE")
    proxy.until(200, "HIT")
    proxy.replica.status = 404
    *before, _ = proxy.until(404, "EXPIRED")
    assert {answer.status_code for answer in before} <= {200}
    assert proxy.ask().status_code == 404


@pytest.mark.parametrize("status", [503, 502, 0])
def test_an_older_answer_is_sent_while_no_replica_has_one(proxy: Proxy, status: int) -> None:
    proxy.replica.kept = "public, max-age=1"
    assert proxy.ask().headers["x-cache"] == "MISS"
    proxy.replica.status = status
    answers = proxy.until(200, "STALE") + [proxy.ask() for _ in range(10)]
    assert {answer.status_code for answer in answers} == {200}
    assert proxy.ask("/v1/size?model=a/c").status_code == (status or 502)
    proxy.replica.status = 200
    proxy.until(200, "EXPIRED")
    assert proxy.ask("/v1/size?model=a/c").status_code == 200
