"""Two replicas behind nginx over one Redis, by the files of `deploy/`, before an emulated Hub."""

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
from tests.ports import free_port
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
    """What runs: the ports of nginx and the replicas, the Hub, and the Redis."""

    port: int
    replicas: tuple[int, int]
    hub: HubEmulator
    redis: RedisServer
    written: Path


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
    port: int,
    path: str,
    fields: dict[str, str] | None = None,
    source: str = "127.0.0.1",
    method: str = "GET",
    **headers: str,
) -> Reply:
    """Ask from an address of loopback; an underscore of a header's name stands for a hyphen."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=TIMEOUT, source_address=(source, 0)
    )
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
    folder: Path, port: int, hub: HubEmulator, redis_url: str
) -> dict[str, str]:
    """The environment of the image and of the Compose file, with places of this machine."""
    (image,) = (text for name, text in dockerfile() if name == "ENV")
    image_environment = dict(pair.split("=", 1) for pair in image.split())
    settings = image_environment | compose()["services"]["replica-1"]["environment"]
    own = {name: value.replace("/tmp", str(folder)) for name, value in settings.items()}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GPUSIZER_")},
        **own,
        "TMPDIR": str(folder),
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "GPUSIZER_CACHE_URL": redis_url,
        "GPUSIZER_QUESTIONS_PER_MINUTE": str(QUESTIONS_PER_MINUTE),
        "HF_ENDPOINT": hub.endpoint,
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
    }


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    need_redis()
    folder = tmp_path_factory.mktemp("deployment")
    port, replicas = free_port(), (free_port(), free_port())
    proxy_command = nginx_command(nginx_configuration(folder, port, replicas))
    written = folder / "written.txt"
    processes = []
    with HubEmulator(latency=0.2) as hub, RedisServer(folder) as redis:
        try:
            for number, replica in enumerate(replicas):
                own = folder / f"replica-{number}"
                own.mkdir()
                command = [sys.executable, "-c", _START, str(own), str(written)]
                with (folder / f"replica-{number}.log").open("w") as log:
                    environment = replica_environment(own, replica, hub, redis.url)
                    processes.append(
                        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
                    )
            for number, replica in enumerate(replicas):
                wait_until_healthy(replica, folder / f"replica-{number}.log")
            processes.append(subprocess.Popen(proxy_command, stderr=subprocess.DEVNULL))
            wait_until_healthy(port, folder / "replica-0.log")
            yield Deployment(port, replicas, hub, redis, written)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(30)


def wait_until_healthy(port: int, log: Path) -> None:
    """Ask as the image's health check does."""
    command = [sys.executable if part == "python" else part for part in health_command(port)]
    end = time.monotonic() + START_SECONDS
    while subprocess.run(command, capture_output=True, check=False).returncode:
        if time.monotonic() > end:
            pytest.fail(f"no health:\n{log.read_text('utf-8')}")
        time.sleep(0.5)


def answers_of(port: int) -> float:
    """Questions below /v1 that a replica has been asked."""
    text = ask(port, "/metrics").body.decode()
    lines = re.findall(r'^gpusizer_http_requests_total\{.*route="/v1/gpus".*\} (\S+)$', text, re.M)
    return sum(map(float, lines))


def test_a_cold_model_costs_all_replicas_one_flight(deployment: Deployment) -> None:
    hub = deployment.hub
    hub.add(llama_repo("org/cold", shards=4))
    hub.reset_log()
    with ThreadPoolExecutor(8) as pool:
        replies = list(
            pool.map(
                lambda number: ask(
                    deployment.replicas[number % 2], "/v1/size", {"model": "org/cold"}
                ),
                range(8),
            )
        )
    assert {reply.status for reply in replies} == {200}
    assert len({reply.headers["etag"] for reply in replies}) == 1
    assert len({reply.body for reply in replies}) == 1
    assert len(hub.requests) == 4
    descriptions = [request for request in hub.requests if request.path == "/api/models/org/cold"]
    assert len(descriptions) == 1


def test_public_answers_are_kept_by_nginx(deployment: Deployment) -> None:
    deployment.hub.add(llama_repo("org/kept"))
    fields = {"model": "org/kept"}
    first, second = (ask(deployment.port, "/v1/size", fields) for _ in range(2))
    assert (first.status, first.headers["x-cache"]) == (200, "MISS")
    assert (second.status, second.headers["x-cache"]) == (200, "HIT")
    assert first.body == second.body
    etag = first.headers["etag"]
    known = ask(deployment.port, "/v1/size", fields, if_none_match=etag)
    assert (known.status, known.headers["x-cache"], known.body) == (304, "HIT", b"")
    own = ask(deployment.port, "/v1/size", fields, authorization="Bearer hf_x")
    assert own.headers["x-cache"] == "BYPASS"
    for _ in range(2):
        wrong = ask(deployment.port, "/v1/size", {"model": "org/none"})
        assert (wrong.status, wrong.headers["x-cache"]) == (404, "MISS")


def test_a_visitor_stays_with_one_replica(deployment: Deployment) -> None:
    def asked_from(addresses: list[str]) -> list[float]:
        before = [answers_of(replica) for replica in deployment.replicas]
        for number, address in enumerate(addresses):
            query = {"query": f"{time.monotonic_ns()} {number}"}
            ask(deployment.port, "/v1/gpus", query, address)
        after = [answers_of(replica) for replica in deployment.replicas]
        return [late - early for early, late in zip(before, after, strict=True)]

    assert sorted(asked_from(["127.0.7.1"] * 12)) == [0, 12]
    assert min(asked_from([f"127.0.{number}.1" for number in range(24)])) > 0


def test_pages_calls_and_streams_pass_through_nginx(deployment: Deployment) -> None:
    address = f"http://127.0.0.1:{deployment.port}/"
    page = ask(deployment.port, "/zh")
    assert page.status == 200 and b"gradio" in page.body
    client = Client(address, verbose=False)
    try:
        answer = client.predict("4090", None, api_name="/list_gpus")
    finally:
        client.close()
    assert answer["gpus"]


def test_metrics_are_not_for_the_public(deployment: Deployment) -> None:
    assert ask(deployment.port, "/metrics").status == 404
    assert ask(deployment.replicas[0], "/metrics").status == 200


def until_refused(port: int, path: str, **headers: str) -> tuple[int, Reply]:
    """Questions that are answered before one is refused, and the refusal."""
    for number in range(5 * QUESTIONS_PER_MINUTE):
        reply = ask(port, path, {"gpus": ""}, **headers)
        if reply.status == 429:
            return number, reply
    pytest.fail("no question is refused")


def test_the_limit_of_a_visitor_holds_for_all_replicas(deployment: Deployment) -> None:
    """What the visitor writes into X-Forwarded-For changes nothing, what the proxy adds does."""
    first, second = deployment.replicas
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
            deployment.port,
            "/v1/compare",
            {"gpus": str(number)},
            source,
            x_forwarded_for=f"198.51.100.{number % 250}",
        ).status
        for number in range(2 * QUESTIONS_PER_MINUTE)
    ]
    assert 429 in until_refused_through_nginx
    assert ask(deployment.port, "/v1/compare", {"gpus": "x"}, "127.0.201.1").status == 400


def test_nothing_is_written_outside_the_temporary_folder(deployment: Deployment) -> None:
    assert deployment.written.read_text("utf-8") == ""


def test_without_redis_replicas_answer_for_themselves(deployment: Deployment) -> None:
    def shared() -> str:
        return str(ask(deployment.replicas[0], "/healthz").json["cache"]["shared"])

    assert shared() == "reached"
    deployment.redis.stop()
    deployment.hub.add(llama_repo("org/later"))
    reply = ask(deployment.port, "/v1/size", {"model": "org/later"}, "127.0.9.1")
    assert reply.status == 200
    assert shared() == "away"
