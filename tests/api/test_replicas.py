"""Two replicas behind nginx over one Redis, by the files of `deploy/`, before an emulated Hub.

As in Docker a replica has a name, an address of its own that it loses when it ends, and the port of
all replicas. The second one comes after nginx.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from gradio_client import Client

from tests.deployment import (
    compose,
    dockerfile,
    health_command,
    nginx_command,
    nginx_configuration,
)
from tests.hub_emulator import HubEmulator, llama_repo
from tests.name_server import NameServer
from tests.nightly import NIGHTLY
from tests.ports import free_port, listens, wait_for
from tests.redis_server import RedisServer, need_redis

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS_PER_MINUTE = 90
START_SECONDS = 300
TIMEOUT = 120

# A file system that is read-only but for one folder: any other file opened to write is told.
_START = """
import os, runpy, sys
folder, report = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path, flags = os.path.abspath(os.fsdecode(arguments[0])), arguments[2] or 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not path.startswith((folder, "/dev")):
            os.write(report, path.encode() + b"\\n")
sys.addaudithook(watch)
sys.argv = ["app.py"]
sys.path.insert(0, os.getcwd())
runpy.run_path("app.py", run_name="__main__")
"""


@dataclass
class Deployment:
    """What runs: the addresses of nginx and the replicas, the names, the Hub, and the Redis."""

    proxy: str
    replicas: list[Replica]
    names: NameServer
    hub: HubEmulator
    redis: RedisServer
    written: Path


@dataclass
class Replica:
    """A process of the application, below its own address of loopback and the port of all."""

    name: str
    address: str
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self, hub: HubEmulator, redis_url: str, written: Path) -> None:
        """Start it with a folder of its own; it is not ready yet."""
        self.folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", _START, str(self.folder), str(written)]
        environment = replica_environment(self.folder, self.address, hub, redis_url)
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """End it as a lack of memory would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(120)
            self.process = None

    @property
    def host(self) -> str:
        return self.address.split(":")[0]

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    address: str,
    path: str,
    fields: dict[str, str] | None = None,
    source: str = "127.0.0.1",
    method: str = "GET",
    **headers: str,
) -> Reply:
    """Ask from an address of loopback; an underscore of a header's name stands for a hyphen."""
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT, source_address=(source, 0))
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if method == "POST":
        sent["content-type"] = "application/json"
    try:
        body = json.dumps(fields) if method == "POST" else None
        query = f"?{urlencode(fields)}" if fields and method != "POST" else ""
        connection.request(method, path + query, body, sent)
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, received, response.read())
    finally:
        connection.close()


def replica_environment(
    folder: Path, address: str, hub: HubEmulator, redis_url: str
) -> dict[str, str]:
    """The environment of the image and of the Compose file, with places of this machine."""
    host, port = address.split(":")
    (image,) = (text for name, text in dockerfile() if name == "ENV")
    image_environment = dict(pair.split("=", 1) for pair in image.split())
    settings = image_environment | compose()["services"]["replica-1"]["environment"]
    own = {name: value.replace("/tmp", str(folder)) for name, value in settings.items()}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GPUSIZER_")},
        **own,
        "TMPDIR": str(folder),
        "GRADIO_SERVER_NAME": host,
        "GRADIO_SERVER_PORT": port,
        "GPUSIZER_CACHE_URL": redis_url,
        "GPUSIZER_QUESTIONS_PER_MINUTE": str(QUESTIONS_PER_MINUTE),
        "HF_ENDPOINT": hub.endpoint,
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
    }


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    need_redis()
    folder = tmp_path_factory.mktemp("deployment")
    port, shared_port = free_port(), free_port()
    first, second = (
        Replica(f"replica-{n}", f"127.0.11.{n}:{shared_port}", folder / f"replica-{n}")
        for n in (1, 2)
    )
    proxy = f"127.0.0.1:{port}"
    written = folder / "written.txt"
    with (
        HubEmulator(latency=0.2) as hub,
        RedisServer(folder) as redis,
        NameServer() as names,
    ):
        named = (f"{first.name}:{shared_port}", f"{second.name}:{shared_port}")
        command = nginx_command(nginx_configuration(folder, port, named, names.address))
        running = Deployment(proxy, [first, second], names, hub, redis, written)
        nginx = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            join(running, first)
            yield running
        finally:
            nginx.terminate()
            nginx.wait(120)
            for replica in running.replicas:
                replica.kill()


def join(deployment: Deployment, replica: Replica) -> None:
    """Start a replica, and give it its name once it is healthy."""
    replica.start(deployment.hub, deployment.redis.url, deployment.written)
    wait_until_healthy(replica.address, replica.log)
    deployment.names.names[replica.name] = replica.host


def leave(deployment: Deployment, replica: Replica) -> None:
    """End a replica as a crash would; its name is gone with it."""
    replica.kill()
    del deployment.names.names[replica.name]


VISITORS = [f"127.0.{number}.1" for number in range(100, 124)]
"""Each replica is the own one of some of them."""


def statuses(deployment: Deployment, method: str = "GET") -> set[int]:
    """What visitors are answered to questions that nobody has asked before, by /v1 or by Gradio."""
    path = "/v1/gpus" if method == "GET" else "/gradio_api/call/v2/list_gpus"
    return {
        ask(deployment.proxy, path, {"query": f"{time.monotonic_ns()}"}, visitor, method).status
        for visitor in VISITORS
    }


def until_it_answers(deployment: Deployment, replica: Replica) -> None:
    """Ask for all visitors until the replica has answered one."""
    before = answers_of(replica)
    end = time.monotonic() + TIMEOUT
    while answers_of(replica) == before:
        assert statuses(deployment) == {200}
        assert time.monotonic() < end, "nginx does not find the replica"
        time.sleep(1)


def test_nginx_answers_without_the_second_replica_and_finds_it(deployment: Deployment) -> None:
    """It started when no replica had a name, and each visitor gets an answer, whichever is his."""
    second = deployment.replicas[1]
    assert second.name not in deployment.names.names
    assert statuses(deployment) == statuses(deployment, "POST") == {200}
    join(deployment, second)
    until_it_answers(deployment, second)


def wait_until_healthy(address: str, log: Path) -> None:
    """Ask as the image's health check does, a process each time, once somebody listens."""
    host, port = address.split(":")
    command = [sys.executable if part == "python" else part for part in health_command(address)]
    end = time.monotonic() + START_SECONDS
    while not listens(int(port), host) or subprocess.run(command, capture_output=True).returncode:
        if time.monotonic() > end:
            pytest.fail(f"no health:\n{log.read_text('utf-8')}")
        time.sleep(0.5)


def answers_of(replica: Replica) -> float:
    """Questions below /v1 that a replica has been asked."""
    text = ask(replica.address, "/metrics").body.decode()
    lines = re.findall(r'^gpusizer_http_requests_total\{.*route="/v1/gpus".*\} (\S+)$', text, re.M)
    return sum(map(float, lines))


def test_a_cold_model_costs_all_replicas_one_flight(deployment: Deployment) -> None:
    hub = deployment.hub
    hub.add(llama_repo("org/cold", shards=4))
    hub.reset_log()
    addresses = [replica.address for replica in deployment.replicas] * 4
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda at: ask(at, "/v1/size", {"model": "org/cold"}), addresses))
    assert {reply.status for reply in replies} == {200}
    assert len({reply.headers["etag"] for reply in replies}) == 1
    assert len({reply.body for reply in replies}) == 1
    assert len(hub.requests) == 4
    descriptions = [request for request in hub.requests if request.path == "/api/models/org/cold"]
    assert len(descriptions) == 1


def test_public_answers_are_kept_by_nginx(deployment: Deployment) -> None:
    deployment.hub.add(llama_repo("org/kept"))
    fields = {"model": "org/kept"}
    first, second = (ask(deployment.proxy, "/v1/size", fields) for _ in range(2))
    assert (first.status, first.headers["x-cache"]) == (200, "MISS")
    assert (second.status, second.headers["x-cache"]) == (200, "HIT")
    assert first.body == second.body
    etag = first.headers["etag"]
    known = ask(deployment.proxy, "/v1/size", fields, if_none_match=etag)
    assert (known.status, known.headers["x-cache"], known.body) == (304, "HIT", b"")
    own = ask(deployment.proxy, "/v1/size", fields, authorization="Bearer hf_x")
    assert own.headers["x-cache"] == "BYPASS"
    for _ in range(2):
        wrong = ask(deployment.proxy, "/v1/size", {"model": "org/none"})
        assert (wrong.status, wrong.headers["x-cache"]) == (404, "MISS")


def test_a_visitor_stays_with_one_replica(deployment: Deployment) -> None:
    def asked_from(addresses: list[str]) -> list[float]:
        before = [answers_of(replica) for replica in deployment.replicas]
        for number, address in enumerate(addresses):
            query = {"query": f"{time.monotonic_ns()} {number}"}
            ask(deployment.proxy, "/v1/gpus", query, address)
        after = [answers_of(replica) for replica in deployment.replicas]
        return [late - early for early, late in zip(before, after, strict=True)]

    assert sorted(asked_from(["127.0.7.1"] * 12)) == [0, 12]
    assert min(asked_from([f"127.0.{number}.1" for number in range(24)])) > 0


def test_pages_calls_and_streams_pass_through_nginx(deployment: Deployment) -> None:
    page = ask(deployment.proxy, "/zh")
    assert page.status == 200 and b"gradio" in page.body
    client = Client(f"http://{deployment.proxy}/", verbose=False)
    try:
        answer = client.predict("4090", None, api_name="/list_gpus")
    finally:
        client.close()
    assert answer["gpus"]


def test_metrics_are_not_for_the_public(deployment: Deployment) -> None:
    assert ask(deployment.proxy, "/metrics").status == 404
    assert ask(deployment.replicas[0].address, "/metrics").status == 200


def until_refused(address: str, path: str, **headers: str) -> tuple[int, Reply]:
    """Questions that are answered before one is refused, and the refusal."""
    for number in range(5 * QUESTIONS_PER_MINUTE):
        reply = ask(address, path, {"gpus": ""}, **headers)
        if reply.status == 429:
            return number, reply
    pytest.fail("no question is refused")


def test_the_limit_of_a_visitor_holds_for_all_replicas(deployment: Deployment) -> None:
    """What the visitor writes into X-Forwarded-For changes nothing, what the proxy adds does."""
    first, second = (replica.address for replica in deployment.replicas)
    visitor = "203.0.113.9"
    answered, refusal = until_refused(first, "/v1/compare", x_forwarded_for=f"6.6.6.6, {visitor}")
    assert answered >= QUESTIONS_PER_MINUTE
    error = refusal.json["error"]
    assert error["code"] == "too_many_requests"
    assert 1 <= error["retry_after_seconds"] <= 60
    assert refusal.headers["retry-after"] == str(error["retry_after_seconds"])
    other = ask(second, "/v1/compare", {"gpus": ""}, x_forwarded_for=f"7.7.7.7, {visitor}")
    assert other.status == 429
    neighbour = ask(second, "/v1/compare", {"gpus": ""}, x_forwarded_for="203.0.113.10")
    assert neighbour.status == 400
    event = ask(
        second,
        "/zh/gradio_api/queue/join",
        {"data": "[]"},
        method="POST",
        x_forwarded_for=visitor,
    )
    assert event.status == 429 and "提问过多" in event.json["detail"]
    assert ask(second, "/healthz", x_forwarded_for=visitor).status == 200


def test_the_address_that_nginx_saw_counts(deployment: Deployment) -> None:
    source = "127.0.200.1"
    until_refused_through_nginx = [
        ask(
            deployment.proxy,
            "/v1/compare",
            {"gpus": str(number)},
            source,
            x_forwarded_for=f"198.51.100.{number % 250}",
        ).status
        for number in range(2 * QUESTIONS_PER_MINUTE)
    ]
    assert 429 in until_refused_through_nginx
    assert ask(deployment.proxy, "/v1/compare", {"gpus": "x"}, "127.0.201.1").status == 400


@pytest.mark.skipif(not NIGHTLY, reason="a third start of the application, at night")
def test_a_replica_that_is_killed_is_found_at_its_new_address(deployment: Deployment) -> None:
    """Nobody's question fails meanwhile, not even the first one after its end."""
    first = deployment.replicas[0]
    leave(deployment, first)
    assert statuses(deployment, "POST") == statuses(deployment) == {200}
    first.address = first.address.replace(first.host, "127.0.11.3")
    join(deployment, first)
    until_it_answers(deployment, first)


def test_nothing_is_written_outside_the_temporary_folder(deployment: Deployment) -> None:
    assert deployment.written.read_text("utf-8") == ""


def test_without_redis_replicas_answer_for_themselves(deployment: Deployment) -> None:
    def shared() -> str:
        return str(ask(deployment.replicas[0].address, "/healthz").json["cache"]["shared"])

    assert shared() == "reached"
    deployment.redis.stop()
    deployment.hub.add(llama_repo("org/later"))
    reply = ask(deployment.proxy, "/v1/size", {"model": "org/later"}, "127.0.9.1")
    assert reply.status == 200
    assert shared() == "away"
