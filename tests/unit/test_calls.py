"""Calls whose names are wrong, and calls that must reach Gradio as they were sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from gpusizer.ui.calls import Calls, Parameters
from gpusizer.ui.endpoints import PUBLIC, Endpoints

PATH = "/gradio_api/call/v2/size_model"
MODEL = {"model": "Qwen/Qwen3-8B"}


async def gradio(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends back what it was sent."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def post(body: bytes, path: str = PATH, piece: int = 1 << 20, **scope: Any) -> tuple[int, bytes]:
    """Status and body of the answer to a body that comes in pieces."""
    pieces = [body[at : at + piece] for at in range(0, len(body), piece)] or [b""]
    waiting = [
        {"type": "http.request", "body": one, "more_body": at + 1 < len(pieces)}
        for at, one in enumerate(pieces)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(dict(message))

    asked = {"type": "http", "method": "POST", "path": path, "headers": [], **scope}
    with pytest.raises(StopIteration):
        Calls(gradio, PUBLIC)(asked, receive, send).send(None)  # type: ignore[attr-defined]
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def refused(fields: dict[str, Any], endpoint: str = "size_model") -> dict[str, Any]:
    status, body = post(json.dumps(fields).encode(), f"/gradio_api/call/v2/{endpoint}")
    assert status == 422
    answer = json.loads(body)
    assert answer["schema_version"] == 1 and answer["error"]["code"] == "invalid_request"
    return dict(answer["error"])


def test_a_misspelt_name_is_named() -> None:
    error = refused({**MODEL, "contxt": 4096})
    assert (error["field"], error["value"], error["reason"]) == ("contxt", "4096", "unknown_field")
    assert "contxt" in error["message"]
    assert len(refused({"x" * 5000: "y" * 5000})["message"]) < 300


def test_a_missing_name_is_named() -> None:
    assert refused({})["field"] == "model"
    assert refused({"quant": "all"}, "models_for_gpu")["field"] == "gpu"
    assert refused({"token": "secret", **MODEL})["field"] == "token", "not a caller's to give"


def test_an_endpoint_that_is_not_there() -> None:
    error = refused(MODEL, "sise_model")
    assert error["field"] == "endpoint" and "size_model" in error["message"]


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "body",
    [
        json.dumps({**MODEL, "context": 4096, "options": {"any": 1}}).encode(),
        json.dumps({**MODEL, "oauth_token": "hf_x"}).encode(),
        b"nonsense",
        b"",
        b"[1]",
        b"[" * 2000,
    ],
)
def test_what_gradio_can_judge_reaches_it_unchanged(body: bytes, piece: int) -> None:
    assert post(body, piece=piece) == (200, body)


def test_a_long_body_is_not_gathered() -> None:
    body = json.dumps({"contxt": "x" * 3_000_000}).encode()
    assert post(body, piece=100_000) == (200, body)


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/gradio_api/call/size_model", {}),
        ("/gradio_api/queue/join", {}),
        (PATH, {"method": "GET"}),
    ],
)
def test_other_requests_pass(path: str, scope: dict[str, Any]) -> None:
    assert post(b'{"contxt": 1}', path, **scope) == (200, b'{"contxt": 1}')


def test_below_a_root() -> None:
    assert post(b"{}", f"/space{PATH}/", root_path="/space")[0] == 422


def test_parameters_are_those_of_the_signature() -> None:
    found = Parameters.of(Endpoints.compare_gpus)
    assert found.needed == ("gpus",)
    assert found.known == {"gpus", "model", "quant", "context", "concurrency", "options"}
