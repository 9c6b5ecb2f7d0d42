"""Pages of other sites get nothing of a signed-in visitor's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
import requests

from tests.nightly import NIGHTLY, some
from tests.space import HOST, PRIVATE_MODEL, Function, Space, filled, session_cookie

EVIL = "https://evil.example"
FOREIGN = {
    "a script": {"origin": EVIL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
    "a script of an old browser": {"origin": EVIL},
    "an image": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    "a form": {"origin": EVIL, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    "a script of another Space": {
        "origin": "https://other.hf.space",
        "sec-fetch-site": "same-site",
        "sec-fetch-mode": "cors",
    },
    "a script in a sandbox": {"origin": "null"},
}
OWN = {
    "our page": {
        "origin": f"https://{HOST}",
        "sec-fetch-site": "same-origin",
        "sec-fetch-mode": "cors",
    },
    "our page in an old browser": {"origin": f"https://{HOST}"},
    "a program": {},
}

# functions that read a model with the rights of the caller
READING = {
    *("size_model", "train_model", "compare_gpus", "models_for_gpu", "place_models"),
    *("ui_size", "ui_compare", "ui_train", "ui_share", "ui_draw", "ui_log"),
}
BODY = {"model": PRIVATE_MODEL, "data": [PRIVATE_MODEL], "session_hash": "x", "event_id": "x"}
ALLOWS_CREDENTIALS = "access-control-allow-credentials"

RunConfig = Callable[[Space, Function, dict[str, str]], Iterator[requests.Response]]


def join(space: Space, function: Function, headers: dict[str, str]) -> Iterator[requests.Response]:
    """Ask as a page's script does."""
    name = f"{function.page.strip('/')}-{function.number}"
    asked = {"data": function.values, "fn_index": function.number, "session_hash": name}
    yield space.ask("POST", f"{function.page}/gradio_api/queue/join", json=asked, headers=headers)
    space.wait_for_answer(function.page, name)


def call(space: Space, function: Function, headers: dict[str, str]) -> Iterator[requests.Response]:
    """Ask as a program does that gives values in their order."""
    address = f"{function.page}/gradio_api/call/{function.name}"
    answer = space.ask("POST", address, json={"data": function.values}, headers=headers)
    yield answer
    yield from _event(space, function, answer, headers)


def named(space: Space, function: Function, headers: dict[str, str]) -> Iterator[requests.Response]:
    """Ask as a program does that gives values by their names."""
    if function.named is None:
        return
    address = f"{function.page}/gradio_api/call/v2/{function.name}"
    answer = space.ask("POST", address, json=function.named, headers=headers)
    yield answer
    yield from _event(space, function, answer, headers)


def _event(
    space: Space, function: Function, answer: requests.Response, headers: dict[str, str]
) -> Iterator[requests.Response]:
    address = f"{function.page}/gradio_api/call/{function.name}/{answer.json()['event_id']}"
    answered = space.ask("GET", address, headers=headers)
    assert "event: complete" in answered.text
    yield answered


def mcp(space: Space, function: Function, headers: dict[str, str]) -> Iterator[requests.Response]:
    """Ask as an agent does."""
    if function.named is None:
        return
    params = {"name": function.name, "arguments": function.named}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    accepted = {"accept": "application/json, text/event-stream", **headers}
    answer = space.ask("POST", "/gradio_api/mcp/", json=asked, headers=accepted)
    assert "result" in json.loads(answer.text.split("data: ")[1])
    yield answer


WAYS: dict[str, RunConfig] = {"join": join, "call": call, "named": named, "mcp": mcp}


def functions(space: Space, kind: int) -> list[Function]:
    """Return the functions to ask.

    By day each kind of request asks those of one page, and of the others the first form's.
    """
    page = space.pages[1 + kind % (len(space.pages) - 1)]
    whole = space.pages if NIGHTLY else ("", page)
    return [f for f in space.functions if f.page in whole or f.name.startswith("ui_size_")]


def test_the_application_tells_all_its_routes(space: Space) -> None:
    paths = {route.path for route in space.routes}
    assert {"/v1/size", "/v1/badge", "/llms.txt", "/healthz", "/", "/zh", "/endpoints"} <= paths
    for page in space.pages:
        for path in ("queue/join", "call/{api_name}", "heartbeat/{session_hash}", "upload"):
            assert f"{page}/gradio_api/{path}" in paths
    assert {"/gradio_api/mcp", "/login/huggingface", "/logout"} <= paths
    names = {function.name.removesuffix(f"_{function.page[1:]}") for function in space.functions}
    assert names >= READING


@pytest.mark.parametrize("kind", some([*FOREIGN], of=2))
def test_no_route_knows_whom_a_foreign_page_asks_for(space: Space, kind: str) -> None:
    headers = {"cookie": session_cookie(), **FOREIGN[kind]}
    before, kinds = space.token_count, set()
    for route in {(route.path, route.methods): route for route in space.routes}.values():
        for method in route.methods:
            query = {"session_hash": "x", "model": PRIVATE_MODEL, "gpus": "4090", "gpu": "4090"}
            options = {"json": BODY} if method == "POST" else {"params": query}
            with space.ask(method, filled(route), headers=headers, **options) as answer:
                kinds.add(answer.status_code)
                assert ALLOWS_CREDENTIALS not in answer.headers, route
                assert "set-cookie" not in answer.headers or route.path.startswith("/login/")
                assert answer.status_code < 500 or answer.status_code == 503, route
    assert space.token_count == before
    assert {200, 404, 422} <= kinds


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", some([*FOREIGN], of=3))
def test_no_function_does(space: Space, kind: str, way: str) -> None:
    headers = {"cookie": session_cookie(), **FOREIGN[kind]}
    before, count = space.token_count, 0
    for function in functions(space, [*FOREIGN].index(kind)):
        for answer in WAYS[way](space, function, headers):
            count += answer.status_code == 200
            assert ALLOWS_CREDENTIALS not in answer.headers
    assert space.token_count == before
    assert count >= 5


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", some([*OWN], of=3))
def test_a_visitor_keeps_these_rights(space: Space, kind: str, way: str) -> None:
    headers = {"cookie": session_cookie(), **OWN[kind]}
    used = {}
    for function in functions(space, [*OWN].index(kind)):
        before = space.token_count
        if [*WAYS[way](space, function, headers)]:
            used[function.name, function.page] = space.token_count - before
    reads = {(name, page): name.removesuffix(f"_{page[1:]}") in READING for name, page in used}
    assert used == {named: int(reads_it) for named, reads_it in reads.items()}


@pytest.mark.parametrize("kind", ["a script", "a script of an old browser"])
def test_another_origin_is_not_promised_credentials(space: Space, kind: str) -> None:
    asked = {"access-control-request-method": "POST", **FOREIGN[kind]}
    for page in space.pages:
        answer = space.ask("OPTIONS", f"{page}/gradio_api/queue/join", headers=asked)
        assert answer.status_code == 200
        assert ALLOWS_CREDENTIALS not in answer.headers


def test_a_visitor_who_comes_from_another_site_is_known(space: Space) -> None:
    """A frame is opened, and a sign-in returns, across sites."""
    came = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    headers = {"cookie": session_cookie(), **came}
    left = space.ask("GET", "/logout?_target_url=/zh", headers=headers)
    assert (left.status_code, left.headers["location"]) == (307, "/zh")
    assert "session=null" in left.headers["set-cookie"]
    begun = space.ask("GET", "/login/huggingface?_target_url=/zh", headers=came)
    assert begun.headers["location"].startswith("https://hub.test/oauth/authorize?")
