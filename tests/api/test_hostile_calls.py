"""Calls that Gradio and its MCP server could not take: refused with an error object, with nothing
of a token in answers, and next to nothing in the log."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.space import HOST, PRIVATE_MODEL, Space

HIDDEN = "hf_hidden_token"
NO_TOKENS: dict[str, object] = {
    "a list": [HIDDEN],
    "an object": {HIDDEN: HIDDEN},
    "a number": 7_300_001,
    "an endless text": HIDDEN * 100,
    "a flag": True,
    "two lines": f"{HIDDEN}\r\nX-Other: 1",
    "a hidden character": f"{HIDDEN}\0",
    "letters of others": f"{HIDDEN}ключ",
}
PAGES = ("", "/en", "/zh", "/pt")
JSON = {"content-type": "application/json"}
AGENT = {**JSON, "accept": "application/json, text/event-stream"}


def code(answer: requests.Response) -> str:
    """Return the code of an error object, also inside one of JSON-RPC."""
    error = answer.json()["error"]
    return str(error.get("data", error)["code"])


def bodies(space: Space, page: str) -> dict[str, dict[str, Any]]:
    """Return a body that would be taken by each route that takes calls, of one page."""
    function = next(f for f in space.functions if f.page == page and f.values)
    joined = {"data": function.values, "fn_index": function.number, "session_hash": "hostile"}
    named = {f"call/v2/{function.name}": function.named} if function.named else {}
    return {
        "queue/join": joined,
        f"call/{function.name}": {"data": function.values},
        "cancel": {"session_hash": "another", "fn_index": function.number, "event_id": "x"},
        "reset": {"event_id": "x"},
        **named,
    }


@pytest.fixture
def log_growth(space: Space) -> Callable[[], str]:
    """Tells what was logged since the test began, once the application has answered again."""
    start = space.log.stat().st_size

    def growth() -> str:
        assert space.ask("GET", "/healthz").status_code == 200
        return space.log.read_bytes()[start:].decode()

    return growth


@pytest.mark.parametrize("page", PAGES)
def test_these_bodies_are_taken(space: Space, page: str) -> None:
    for route, body in bodies(space, page).items():
        answer = space.ask("POST", f"{page}/gradio_api/{route}", json=body)
        assert answer.status_code == 200, route
    space.wait_for_answer(page, "hostile")


@pytest.mark.parametrize("kind", NO_TOKENS)
def test_what_is_no_token_is_refused_and_kept_nowhere(
    space: Space, kind: str, log_growth: Callable[[], str]
) -> None:
    given, before = NO_TOKENS[kind], space.tokens.read_text("utf-8")
    for page in PAGES:
        for route, body in bodies(space, page).items():
            asked = {**body, "oauth_token": given}
            answer = space.ask("POST", f"{page}/gradio_api/{route}", json=asked)
            assert (answer.status_code, code(answer)) == (422, "invalid_request"), route
            assert answer.json()["error"]["field"] == "oauth_token"
            assert HIDDEN not in answer.text and str(given) not in answer.text
    assert log_growth() == ""
    assert space.tokens.read_text("utf-8") == before


QUESTIONS = ("size", "train", "gpus", "compare", "models-for", "desk")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("token", [HIDDEN * 100, f"{HIDDEN} {HIDDEN}", f"{HIDDEN}\u00e9"])
def test_a_header_that_holds_no_token_is_refused(
    space: Space, question: str, token: str, log_growth: Callable[[], str]
) -> None:
    query = {
        "size": "model",
        "train": "model",
        "compare": "gpus",
        "models-for": "gpu",
        "desk": "models",
    }
    asked = {query[question]: PRIVATE_MODEL} if question in query else {}
    bearer = {"authorization": f"Bearer {token}".encode("latin-1")}
    answer = space.ask("GET", f"/v1/{question}", params=asked, headers=bearer)
    assert (answer.status_code, code(answer)) == (400, "invalid_request")
    assert HIDDEN not in answer.text
    assert log_growth() == ""


@pytest.mark.parametrize("token", [HIDDEN * 100, f"{HIDDEN} {HIDDEN}", f"[{HIDDEN!r}]"])
def test_elsewhere_the_header_is_not_read(
    space: Space, token: str, log_growth: Callable[[], str]
) -> None:
    bearer, before = {"authorization": f"Bearer {token}"}, space.tokens.read_text("utf-8")
    for page in PAGES:
        for route, body in bodies(space, page).items():
            asked = {**body, "session_hash": "header"} if route == "queue/join" else body
            address = f"{page}/gradio_api/{route}"
            assert HIDDEN not in space.ask("POST", address, json=asked, headers=bearer).text
        space.wait_for_answer(page, "header")
        assert HIDDEN not in space.ask("GET", f"{page}/", headers=bearer).text
    badge = f"/v1/badge?model={PRIVATE_MODEL}&gpu=4090"
    assert HIDDEN not in space.ask("GET", badge, headers=bearer).text
    call = {"name": "size_model", "arguments": {"model": PRIVATE_MODEL}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = space.ask("POST", "/gradio_api/mcp/", json=asked, headers={**AGENT, **bearer})
    assert HIDDEN not in answer.text
    assert HIDDEN not in log_growth()
    assert space.tokens.read_text("utf-8") == before


@pytest.mark.parametrize("end", ["\r\nX-Other: 1", "\0"])
def test_a_header_with_such_characters_is_no_request(
    space: Space, end: str, log_growth: Callable[[], str]
) -> None:
    """A line end would begin another header; requests refuses to send either."""
    address = urlsplit(space.url)
    head = f"GET /v1/gpus HTTP/1.1\r\nhost: {HOST}\r\nauthorization: Bearer {HIDDEN}{end}"
    with socket.create_connection((address.hostname, address.port), 30) as connection:
        connection.sendall(f"{head}\r\nconnection: close\r\n\r\n".encode("latin-1"))
        answer = connection.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 400" if end == "\0" else "HTTP/1.1 200")
    assert HIDDEN not in answer and HIDDEN not in log_growth()


NUMBERS = ("-1", "99999", "NaN", "1e999", "-1e999", "1.5", "true", '"0"', "[]", "{}", "9" * 5_000)
NESTED = ("[" * 40 + "]" * 40, "[" * 100_000 + "]" * 100_000, '{"a":' * 50 + "1" + "}" * 50)


def put(body: dict[str, Any], field: str, value: str) -> str:
    """Return a body as JSON with a value in one field that Python could not write."""
    return json.dumps({**body, field: "VALUE"}).replace('"VALUE"', value)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", NUMBERS)
def test_what_is_no_number_of_a_function(
    space: Space, page: str, value: str, log_growth: Callable[[], str]
) -> None:
    for route, body in bodies(space, page).items():
        if "fn_index" not in body:
            continue
        asked = put(body, "fn_index", value)
        answer = space.ask("POST", f"{page}/gradio_api/{route}", data=asked, headers=JSON)
        assert (answer.status_code, code(answer)) == (422, "invalid_request"), route
    assert log_growth() == ""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", [*NESTED, "NaN", "1e999", "9" * 5_000, '"\\ud800"', ""])
def test_bodies_that_readers_of_json_differ_about(
    space: Space, page: str, value: str, log_growth: Callable[[], str]
) -> None:
    for route, body in bodies(space, page).items():
        for field in ("data", "model", "other"):
            asked = put(body, field, value)
            answer = space.ask("POST", f"{page}/gradio_api/{route}", data=asked, headers=JSON)
            assert (answer.status_code, code(answer)) == (422, "invalid_request"), route
    assert log_growth() == ""


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"session_hash": None}, "session_hash"),
        ({"session_hash": ""}, "session_hash"),
        ({"session_hash": "x" * 1_000}, "session_hash"),
        ({"session_hash": ["x"]}, "session_hash"),
        ({"data": None}, "data"),
        ({"data": {}}, "data"),
        ({"data": [PRIVATE_MODEL]}, "data"),
        ({"data": [PRIVATE_MODEL] * 99}, "data"),
        ({"batched": True}, "batched"),
        ({"trigger_id": "1"}, "trigger_id"),
        ({"event_id": 1}, "event_id"),
    ],
)
def test_calls_of_another_form(
    space: Space, change: dict[str, Any], field: str, log_growth: Callable[[], str]
) -> None:
    """Private contents of a call are not logged."""
    body = {**bodies(space, "")["queue/join"], **change}
    answer = space.ask("POST", "/gradio_api/queue/join", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert log_growth() == ""


def test_functions_that_are_not_there(space: Space, log_growth: Callable[[], str]) -> None:
    for page in PAGES:
        for route in ("call/nothing", "call/v2/nothing", "call/v2", "call/v2/ui_size_en"):
            answer = space.ask("POST", f"{page}/gradio_api/{route}", json={"data": []})
            assert (answer.status_code, code(answer)) == (422, "invalid_request"), route
        for route in ("run/size_model", "api/size_model", "run/predict", "component_server"):
            answer = space.ask("POST", f"{page}/gradio_api/{route}", json={"data": []})
            assert answer.status_code == 404
    assert log_growth() == ""


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_page_is_no_call(space: Space, kind: str) -> None:
    """A form can be sent to another site without asking it first, JSON cannot."""
    for route, body in bodies(space, "").items():
        answer = space.ask(
            "POST",
            f"/gradio_api/{route}",
            data=json.dumps({**body, "oauth_token": HIDDEN}),
            headers={"content-type": kind},
        )
        assert (answer.status_code, code(answer)) == (422, "invalid_request")
        assert HIDDEN not in answer.text


MCP_PATHS = ("/gradio_api/mcp", "/gradio_api/mcp/", "/gradio_api/mcp/http/")
IDS = ("NaN", "1e999", "9" * 5_000, "[" * 40 + "]" * 40)


@pytest.mark.parametrize("path", [*MCP_PATHS, "/gradio_api/mcp/messages/?session_id=x"])
@pytest.mark.parametrize("value", IDS)
def test_messages_of_agents(
    space: Space, path: str, value: str, log_growth: Callable[[], str]
) -> None:
    call = '{"name": "list_gpus", "arguments": {"query": "4090", "top": %s}}'
    for message in (
        f'{{"jsonrpc": "2.0", "id": {value}, "method": "tools/list"}}',
        f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {call % value}}}',
    ):
        answer = space.ask("POST", path, data=message, headers=AGENT)
        assert (answer.status_code, code(answer)) == (400, "invalid_request")
        assert answer.json()["error"]["code"] == -32700
    assert log_growth() == ""


@pytest.mark.parametrize("arguments", ["true", '["hf_hidden_token"]', '"hf_hidden_token"'])
def test_what_agents_say_is_not_logged(
    space: Space, arguments: str, log_growth: Callable[[], str]
) -> None:
    params = f'{{"name": "size_model", "arguments": {arguments}}}'
    message = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    for path in MCP_PATHS[1:]:
        answer = space.ask("POST", path, data=message, headers=AGENT)
        assert "Invalid request parameters" in answer.text
    assert log_growth() == ""


@pytest.mark.parametrize("page", PAGES)
def test_streams_of_unknown_names_do_not_begin(
    space: Space, page: str, log_growth: Callable[[], str]
) -> None:
    for route in (
        "queue/data?session_hash=unknown",
        "queue/data?session_hash=",
        "call/size_model/unknown",
        "call/v2/size_model/unknown",
        "call/nothing/unknown",
    ):
        answer = space.ask("GET", f"{page}/gradio_api/{route}")
        assert (answer.status_code, code(answer)) == (404, "unknown_event"), route
    assert log_growth() == ""


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("error=access_denied&_target_url=/zh", "/zh"),
        ("error=access_denied&_target_url=https://evil.example/zh", "/zh"),
        ("error=access_denied&_target_url=//evil.example", "/"),
        ("error=access_denied&_target_url=http://[", "/"),
        ("error=x", "/"),
        ("_nb_redirects=x", "/login/huggingface?_nb_redirects=1"),
        ("_nb_redirects=", "/login/huggingface?_nb_redirects=1"),
        ("code=x&state=y", "/login/huggingface?_nb_redirects=1"),
    ],
)
def test_a_sign_in_that_fails_leads_back(
    space: Space, query: str, place: str, log_growth: Callable[[], str]
) -> None:
    answer = space.ask("GET", f"/login/callback?{query}")
    assert (answer.status_code, answer.headers["location"]) == (307, place)
    assert log_growth() == ""


def test_a_hub_that_does_not_sign_in(space: Space, log_growth: Callable[[], str]) -> None:
    """The emulator has nothing that gives a token."""
    begun = space.ask("GET", "/login/huggingface?_target_url=/zh")
    state = re.search(r"[?&]state=([^&]+)", begun.headers["location"])
    assert state is not None
    cookie = {"cookie": begun.headers["set-cookie"].partition(";")[0]}
    answer = space.ask("GET", f"/login/callback?code=secret&state={state[1]}", headers=cookie)
    assert (answer.status_code, code(answer)) == (503, "sign_in_failed")
    logged = log_growth()
    assert logged.count("\n") == 1 and "signing in failed" in logged and "secret" not in logged


@pytest.mark.parametrize("path", ["/", "/zh", "/pt", "/endpoints"])
def test_an_address_with_the_name_of_a_page(
    space: Space, path: str, log_growth: Callable[[], str]
) -> None:
    for page in ("x", "", "endpoints", "%00"):
        assert space.ask("GET", f"{path}?page={page}").status_code == 200
    assert log_growth() == ""
