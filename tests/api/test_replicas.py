"""Two replicas behind nginx over one Redis; the second one starts after nginx."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from gpusizer.core.cpu_limiter import READING
from tests.hub_emulator import Fault, HubEmulator, llama_repo
from tests.redis_server import need_redis
from tests.replicas import VISITORS, Deployment, Replica, deployed

QUESTIONS_PER_MINUTE = 90
TIMEOUT = 120


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
    """Ask from an address of loopback; an underscore of a header's name becomes a hyphen."""
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


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    need_redis()
    settings = {"GPUSIZER_QUESTIONS_PER_MINUTE": str(QUESTIONS_PER_MINUTE)}
    folder = tmp_path_factory.mktemp("deployment")
    with HubEmulator(latency=0.2) as hub, deployed(folder, hub, settings) as running:
        running.join(running.replicas[0])
        yield running


def statuses(deployment: Deployment, method: str = "GET") -> set[int]:
    """Return the statuses of visitors' new questions, by /v1 or by Gradio."""
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
    deployment.join(second)
    until_it_answers(deployment, second)


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
    """X-Forwarded-For counts as the proxy wrote it, not the visitor."""
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


def test_a_replica_that_is_killed_while_it_reads_costs_no_visitor_an_answer(
    deployment: Deployment,
) -> None:
    """The other replica reads the lost models, once for all visitors.

    `python -m bench.load replicas` measures their waiting time.
    """
    hub, victim = deployment.hub, deployment.replicas[1]
    held, other = [f"org/held-{number}" for number in range(3)], ["org/new", "org/warm"]
    for model in (*held, *other):
        hub.add(llama_repo(model, shards=4))
    for model in held:  # who asks the Hub first gets no answer, and ends before that fails
        hub.faults.add(Fault("hang", match=f"/models/{model}/", times=1))
    ask(deployment.proxy, "/v1/size", {"model": other[1]})
    hub.reset_log()

    def descriptions(model: str) -> int:
        return [request.path for request in hub.requests].count(f"/api/models/{model}")

    def visit(number: int) -> set[int]:
        own = {"model": held[number % 3], "top": str(1 + number)}
        questions = [own, *({"model": model} for model in other), own]
        visitor = VISITORS[number % len(VISITORS)]
        return {ask(deployment.proxy, "/v1/size", asked, visitor).status for asked in questions}

    crowd = READING + 3  # more than models may be read at once, and fewer than threads may wait
    with ThreadPoolExecutor(len(held) + crowd) as pool:
        lost = [
            pool.submit(ask, victim.address, "/v1/size", {"model": model}, visitor)
            for model, visitor in zip(held, VISITORS, strict=False)
        ]
        while not all(map(descriptions, held)):
            time.sleep(0.05)
        visits = [pool.submit(visit, number) for number in range(crowd)]
        time.sleep(1)  # they wait at both replicas; who comes later meets the same
        deployment.leave(victim)
        assert set.union(*(answered.result(TIMEOUT) for answered in visits)) == {200}
        assert all(unanswered.exception(TIMEOUT) for unanswered in lost)
    assert [descriptions(model) for model in (*held, *other)] == [2, 2, 2, 1, 0]
    assert statuses(deployment, "POST") == {200}


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
