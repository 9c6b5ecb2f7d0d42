"""Answers over HTTP: status, caching, health, and calls that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fastapi import applications
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from gpusizer.core.errors import (
    GatedModel,
    GpusizerError,
    HubRateLimited,
    HubUnreachable,
    InvalidRequest,
    ServerBusy,
)
from gpusizer.core.settings import Settings
from gpusizer.gpus import load_catalogue
from gpusizer.text import LANGUAGES, Language, say_error
from gpusizer.ui.server.answer_cache import AnswerCache, Answers
from gpusizer.ui.server.doors.call_validation import Functions, check_call
from gpusizer.ui.server.doors.request_limits import RequestLimits
from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.health import HubState
from gpusizer.ui.server.http_api import http_api
from gpusizer.ui.server.http_status import retry_after_seconds
from gpusizer.ui.server.metrics import Metrics
from gpusizer.ui.server.work_pool import WorkPool
from gpusizer.usecases.sizer import Sizer
from tests.one_repository import Repository

pytestmark = pytest.mark.anyio

QUESTION = "/size?model=someone/tiny&gpu=4090&quant=native"


@pytest.fixture
def repository() -> Repository:
    return Repository()


def client_of(repository: Repository, *, waiting: int = 8) -> TestClient:
    sizer = Sizer(repository, load_catalogue())
    pool = WorkPool(1, waiting)
    answers = Answers(sizer, lambda token: repository, AnswerCache(sizer), pool)
    return TestClient(http_api(answers, PUBLIC, Metrics()))


def test_the_description_is_written_before_anybody_asks(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(repository)

    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("a visitor waits for the description")

    monkeypatch.setattr(TypeAdapter, "json_schema", too_late)
    monkeypatch.setattr(applications, "get_openapi", too_late)
    for _ in range(2):
        described = client.get("/openapi.json").json()
        assert {f"/{endpoint.command}" for endpoint in PUBLIC} == described["paths"].keys()
        assert "ErrorAnswer" in described["components"]["schemas"]


def test_models_of_a_desk_are_repeated_or_separated_by_commas(repository: Repository) -> None:
    client = client_of(repository)
    line = "someone/tiny%20quant=native"
    answers = [
        client.get(f"/desk?models={line}&models={line}%20users=2&gpu=2x4090"),
        client.get(f"/desk?models={line},{line}%20users=2&gpu=2x4090"),
    ]
    first, second = (answer.json() for answer in answers)
    assert first == second and [model["users"] for model in first["models"]] == [1, 2]
    assert answers[0].headers["etag"] and first["machine"]["gpus"] == ["rtx-4090-24gb"] * 2
    refused = client.get("/desk?gpu=4090")
    assert refused.status_code == 422 or refused.status_code == 400
    assert refused.json()["error"]["field"] == "models"


def test_a_commit_is_kept_until_the_next(repository: Repository) -> None:
    client = client_of(repository)
    etag = client.get(QUESTION).headers["etag"]
    known = {"if-none-match": etag}
    repository.snapshot = replace(repository.snapshot, retrieved_at="2031-01-01T00:00:00+00:00")
    assert client.get(QUESTION, headers=known).status_code == 304
    repository.snapshot = replace(repository.snapshot, sha="b" * 40)
    newer = client.get(QUESTION, headers=known)
    assert newer.status_code == 200
    assert newer.json()["model"]["sha"] == "b" * 40
    assert newer.headers["etag"] != etag


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (GatedModel(repo_id="someone/tiny"), 403),
        (HubUnreachable(repo_id="someone/tiny", reason="timeout"), 503),
    ],
)
def test_a_model_that_can_no_longer_be_read_is_never_304(
    repository: Repository, failure: GpusizerError, status: int
) -> None:
    client = client_of(repository)
    etag = client.get(QUESTION).headers["etag"]
    repository.failure = failure
    answer = client.get(QUESTION, headers={"if-none-match": etag})
    assert answer.status_code == status
    assert answer.headers["cache-control"] == "no-store"


def test_a_gate_makes_an_answer_private(repository: Repository) -> None:
    client = client_of(repository)
    known = {"if-none-match": client.get(QUESTION).headers["etag"]}
    repository.snapshot = replace(repository.snapshot, gated=True)
    answer = client.get(QUESTION, headers=known)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-store")
    assert "etag" not in answer.headers


def test_replicas_agree_on_the_etag(repository: Repository) -> None:
    first, second = client_of(repository), client_of(repository)
    known = {"if-none-match": first.get(QUESTION).headers["etag"]}
    assert second.get(QUESTION, headers=known).status_code == 304


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_finds_the_line_full_is_told_when_to_come_again(
    repository: Repository, language: Language
) -> None:
    answer = client_of(repository, waiting=-1).get(f"{QUESTION}&lang={language}")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.headers["content-language"] == language
    error = answer.json()["error"]
    assert error["code"] == "server_busy"
    assert error["message"] == say_error(ServerBusy(retry_after_seconds=2), language)


@pytest.mark.parametrize(
    "status, state",
    [
        (200, "reached"),
        (404, "reached"),
        (429, "limited"),
        (502, "unreachable"),
        (None, "unreachable"),
    ],
)
def test_the_last_request_counts(status: int | None, state: str) -> None:
    now = 100.0
    hub = HubState(offline=False, clock=lambda: now)
    assert hub.to_json() == {"state": "not_asked", "seconds_ago": None}
    hub.hub_call("resolver", 200)
    hub.hub_call("api", status)
    hub.hub_call("cdn", 503)
    now = 107.4
    assert hub.to_json() == {"state": state, "seconds_ago": 7}


@pytest.mark.parametrize(
    "error, seconds",
    [
        (HubRateLimited(repo_id="a/b", retry_after_seconds=0.2), 1),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=120), 120),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=1e9), 3600),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=float("inf")), 60),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=None), 60),
        (HubUnreachable(repo_id="a/b", reason="timeout"), 5),
        (ServerBusy(retry_after_seconds=2), 2),
        (InvalidRequest(field="context", value="x", reason="number"), None),
        (GpusizerError(), None),
    ],
)
def test_seconds_to_wait(error: GpusizerError, seconds: int | None) -> None:
    assert retry_after_seconds(error) == seconds


ENDPOINTS = {
    "size_model": [
        {"parameter_name": "model", "parameter_has_default": False},
        {"parameter_name": "context", "parameter_has_default": True},
    ],
    "list_gpus": [{"parameter_name": "query", "parameter_has_default": True}],
}
FUNCTIONS = Functions(ENDPOINTS, {"size_model": 0}, {0: frozenset({2})})
MODEL = {"model": "Qwen/Qwen3-8B"}


def refused(body: dict[str, Any], endpoint: str = "size_model") -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        check_call(f"call/v2/{endpoint}", body, FUNCTIONS)
    return caught.value


def test_a_misspelt_name_is_named() -> None:
    fields = refused({**MODEL, "contxt": 4096}).fields
    assert fields == {"field": "contxt", "value": "", "reason": "unknown_field"}
    assert refused({"token": "secret", **MODEL}).fields["field"] == "token"


def test_long_names_are_shortened_and_values_left_out() -> None:
    fields = refused({"x" * 5000: "y" * 5000}).fields
    assert (len(str(fields["field"])), fields["value"]) == (40, "")


def test_a_missing_name_is_named() -> None:
    fields = refused({"context": 4096}).fields
    assert fields == {"field": "model", "value": "", "reason": "empty"}


def test_an_endpoint_that_does_not_exist() -> None:
    fields = refused(MODEL, "sise_model").fields
    assert fields["field"] == "endpoint"
    assert fields["choices"] == "size_model, list_gpus"


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("size_model", MODEL),
        ("size_model", {**MODEL, "context": "much"}),
        ("size_model", {**MODEL, "oauth_token": "hf_x"}),
        ("list_gpus", {}),
    ],
)
def test_right_names_are_not_refused(endpoint: str, body: dict[str, Any]) -> None:
    check_call(f"call/v2/{endpoint}", body, FUNCTIONS)


async def answer_to(response: Response | None, *pieces: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers with which a body in pieces is answered; None answers with its length."""
    messages: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": place < len(pieces)}
        for place, piece in enumerate(pieces, start=1)
    ]
    sent: list[Any] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        await (response or PlainTextResponse(str(len(body))))(scope, receive, send)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    await RequestLimits(app, Settings())(scope, receive, send)
    start = sent[0]
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        (PlainTextResponse("queue is full", 503), "5"),
        (PlainTextResponse("slow down", 429), "60"),
        (PlainTextResponse("slow down", 429, {"retry-after": "9"}), "9"),
        (PlainTextResponse("fine", 200), None),
    ],
)
async def test_who_must_wait_is_told_how_long(response: Response, seconds: str | None) -> None:
    _, headers = await answer_to(response, b"")
    assert headers.get("retry-after") == seconds
