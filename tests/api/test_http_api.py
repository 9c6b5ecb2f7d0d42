"""The questions over plain HTTP: answers, caching, statuses and their description."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from gpusizer.core import errors
from gpusizer.text import LANGUAGES, Language, say_error
from gpusizer.ui.server.doors.request_limits import MAX_BODY_BYTES, MAX_QUERY_BYTES
from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.http_api import PUBLIC_CACHE
from gpusizer.ui.server.http_status import STATUSES
from gpusizer.usecases.requests.request_docs import described_fields
from tests.api.plain_http import COMMANDS, ask, query_of
from tests.api.test_transports import EXAMPLES
from tests.api.transports import TIMEOUT
from tests.hostile import BROKEN_MODEL, LIMITED_MODEL, VISITORS_MODEL, VISITORS_TOKEN
from tests.running_app import RunningApp

OPEN = "Qwen/Qwen3-8B"
QUESTION = {"model": OPEN, "gpu": "4090", "quant": "native"}


def code(answer: requests.Response) -> str:
    return str(answer.json()["error"]["code"])


@pytest.mark.parametrize("endpoint", EXAMPLES)
def test_a_caller_who_has_the_answer_gets_304(app_url: str, endpoint: str) -> None:
    query = query_of(EXAMPLES[endpoint])
    first = ask(app_url, COMMANDS[endpoint], query)
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == PUBLIC_CACHE
    for known in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        again = ask(app_url, COMMANDS[endpoint], query, If_None_Match=known)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
        assert again.headers["cache-control"] == PUBLIC_CACHE
    changed = ask(app_url, COMMANDS[endpoint], {**query, "lang": "zh"}, If_None_Match=etag)
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


def test_head_has_the_headers_alone(app_url: str) -> None:
    plain = {"Accept_Encoding": "identity"}
    full = ask(app_url, "size", QUESTION, **plain)
    head = ask(app_url, "size", QUESTION, "HEAD", **plain)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-length", "content-type", "etag", "cache-control"):
        assert head.headers[name] == full.headers[name]
    assert ask(app_url, "size", {"model": "a b"}, "HEAD").status_code == 400


def test_answers_are_compressed_for_who_can_read_that(app_url: str) -> None:
    packed = ask(app_url, "size", {"model": OPEN}, Accept_Encoding="gzip")
    plain = ask(app_url, "size", {"model": OPEN}, Accept_Encoding="identity")
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 4
    assert "Accept-Encoding" in packed.headers["vary"]


def test_a_visitors_token_reads_for_that_visitor_alone(app_url: str, app: RunningApp) -> None:
    query = {"model": VISITORS_MODEL}
    with_token = {"Authorization": f"Bearer {VISITORS_TOKEN}"}
    for _ in range(2):
        theirs = ask(app_url, "size", query, **with_token)
        assert theirs.json()["model"]["repo_id"] == VISITORS_MODEL
        assert theirs.headers["cache-control"] == "private, no-store"
        assert "Authorization" in theirs.headers["vary"] and "etag" not in theirs.headers
        anybodys = ask(app_url, "size", query)
        assert (anybodys.status_code, code(anybodys)) == (503, "hub_unreachable")
        known = ask(app_url, "size", query, If_None_Match="*")
        assert known.status_code == 503
    public = ask(app_url, "size", QUESTION, **with_token)
    assert public.headers["cache-control"] == "private, no-store"
    assert VISITORS_TOKEN not in app.log.read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_of_the_hub_is_a_429_in_three_languages(app_url: str, language: Language) -> None:
    query = {"model": LIMITED_MODEL}
    for answer in (
        ask(app_url, "size", {**query, "lang": language}),
        ask(app_url, "size", query, Accept_Language=f"fr, {language}-XX;q=0.9, en;q=0.1"),
    ):
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
        assert answer.headers["cache-control"] == "no-store"
        error = errors.HubRateLimited(repo_id=LIMITED_MODEL, retry_after_seconds=6.5)
        assert answer.json()["error"]["message"] == say_error(error, language)


def test_the_sentences_of_an_answer_follow_lang_alone(app_url: str) -> None:
    """A cache that does not look at Accept-Language gives everybody the right one."""
    first = ask(app_url, "size", QUESTION).json()
    assert ask(app_url, "size", QUESTION, Accept_Language="zh").json() == first
    chinese = ask(app_url, "size", {**QUESTION, "lang": "zh"}).json()
    assert chinese["ranking"][0]["why"] != first["ranking"][0]["why"]
    assert chinese["estimates"][0]["total_bytes"] == first["estimates"][0]["total_bytes"]


@pytest.mark.parametrize(
    ("status", "expected_code", "fields"),
    [
        (400, "invalid_model_id", {"model": "a b"}),
        (400, "invalid_request", {"model": OPEN, "context": "many"}),
        (400, "invalid_request", {"model": OPEN, "max_watts": ""}),
        (400, "invalid_request", {"model": OPEN, "rank_by": ""}),
        (400, "invalid_request", {"model": OPEN, "lang": ""}),
        (400, "invalid_request", {"model": OPEN, "nonsense": 1}),
        (400, "invalid_request", {"model": OPEN, "lang": "xx"}),
        (400, "invalid_request", {"model": OPEN, "context": [1, 2]}),
        (400, "invalid_request", {"model": OPEN, "rig": "x" * 301}),
        (400, "unknown_gpu", {"model": OPEN, "gpu": "not a card"}),
        (500, "internal", {"model": BROKEN_MODEL}),
        (503, "hub_unreachable", {"model": "nobody/nothing-here"}),
    ],
)
def test_errors_have_a_status(
    app_url: str, status: int, expected_code: str, fields: dict[str, Any]
) -> None:
    answer = ask(app_url, "size", fields)
    assert (answer.status_code, code(answer)) == (status, expected_code)
    assert answer.headers["cache-control"] == "no-store"
    assert ("retry-after" in answer.headers) == (status == 503)


def test_every_error_has_a_status() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    codes = {kind.code for kind in classes if issubclass(kind, errors.GpusizerError)}
    assert set(STATUSES) == codes


def test_wrong_paths_and_methods_are_error_objects(app_url: str) -> None:
    wrong = ask(app_url, "sise", QUESTION)
    assert (wrong.status_code, code(wrong)) == (404, "invalid_request")
    assert "/v1/size" in wrong.json()["error"]["choices"]
    assert ask(app_url, "size", QUESTION, "POST").status_code == 405


def test_a_long_address_and_a_large_body_are_refused(app_url: str) -> None:
    long = ask(app_url, "size", {"model": "x" * MAX_QUERY_BYTES})
    assert (long.status_code, code(long)) == (413, "request_too_large")
    endpoint = f"{app_url}gradio_api/call/v2/list_gpus"
    body = json.dumps({"query": "x" * MAX_BODY_BYTES}).encode()
    announced = requests.post(endpoint, data=body, timeout=TIMEOUT)
    assert (announced.status_code, code(announced)) == (413, "request_too_large")
    pieces = (body[start : start + 2**16] for start in range(0, len(body), 2**16))
    streamed = requests.post(endpoint, data=pieces, timeout=TIMEOUT)
    assert (streamed.status_code, code(streamed)) == (413, "request_too_large")


def test_many_at_once_get_one_answer(app_url: str) -> None:
    query = {**QUESTION, "context": 12_345}
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: ask(app_url, "size", query), range(48)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len({answer.headers["etag"] for answer in answers}) == 1


def test_the_description_has_every_field_of_every_question(app_url: str) -> None:
    described = requests.get(f"{app_url}v1/openapi.json", timeout=TIMEOUT).json()
    page = requests.get(f"{app_url}v1/docs", timeout=TIMEOUT)
    assert page.headers["content-type"].startswith("text/html")
    assert "<script" not in page.text and "http" not in page.text
    for endpoint in PUBLIC:
        operation = described["paths"][f"/{endpoint.command}"]["get"]
        parameters = {parameter["name"]: parameter for parameter in operation["parameters"]}
        fields = described_fields(endpoint.request)
        assert set(parameters) == {*fields, "lang"}
        assert {"200", "304", "400", "404", "413", "429", "503"} <= set(operation["responses"])
        assert f"GET /v1/{endpoint.command}" in page.text
        for name in fields:
            assert parameters[name]["description"]
            assert f"<code>{name}</code>" in page.text
    sized = {
        parameter["name"]: parameter["schema"]
        for parameter in described["paths"]["/size"]["get"]["parameters"]
    }
    assert sized["model"] == {"type": "string", "minLength": 1}
    assert sized["context"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 10_000_000,
        "default": 8192,
    }


def test_examples_of_the_page_are_answered(app_url: str) -> None:
    page = requests.get(f"{app_url}v1/docs", timeout=TIMEOUT).text
    links = [part.partition('"')[0] for part in page.split('href="')[1:] if "?" in part[:40]]
    assert len(links) == len(PUBLIC)
    for link in links:
        address = f"{app_url}v1/{link.replace('&amp;', '&')}"
        assert requests.get(address, timeout=TIMEOUT).status_code == 200, link


def test_a_report_of_a_program_is_a_machine(app_url: str) -> None:
    csv = "name, memory.total [MiB], memory.used [MiB]\nNVIDIA L40S, 46068 MiB, 1024 MiB"
    answer = ask(app_url, "size", {"model": OPEN, "gpu": csv}).json()
    (place,) = answer["ranking"]
    assert place["gpu"] == "l40s-48gb"
    assert {"report_read"} <= {note["code"] for note in answer["notes"]}
    command = {"model": "vllm serve Qwen/Qwen3-8B --port 8000", "gpu": "dual 3090"}
    answer = ask(app_url, "size", command).json()
    assert answer["model"]["repo_id"] == OPEN
    assert (answer["ranking"][0]["gpu"], answer["ranking"][0]["count"]) == ("rtx-3090-24gb", 2)


def test_here_is_refused_over_the_network(app_url: str) -> None:
    asked = {
        "size": {"model": OPEN, "gpu": "here"},
        "models-for": {"gpu": "here"},
        "compare": {"gpus": "here"},
    }
    for command, fields in asked.items():
        refused = ask(app_url, command, fields)
        assert (refused.status_code, code(refused)) == (400, "unknown_gpu")
        assert "command line" in refused.json()["error"]["message"]
