"""The badge that shields.io draws: its words and colours, its Markdown, its caching, its errors."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from httpx import Response
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from gpusizer.api.size import size_answer
from gpusizer.core.errors import (
    GatedModel,
    GpusizerError,
    HubRateLimited,
    MalformedRepo,
    PrivateOrMissing,
)
from gpusizer.core.tables import toml_of
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.presenters.badge import ORIGIN, PATH, Badge, badge_markdown, badge_of
from gpusizer.ui.presenters.badge import __file__ as badge_file
from gpusizer.ui.server.answer_cache import AnswerCache, Answers
from gpusizer.ui.server.badge_route import badge_route
from gpusizer.ui.server.http_api import PUBLIC_CACHE
from gpusizer.ui.server.http_status import STATUSES
from gpusizer.ui.server.metrics import Metrics
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.one_repository import Repository
from tests.pages import ENGLISH
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
HOSTILE = "</title><script>alert(1)</script>\"' onload=x ]]> &amp; \x00\ud800"
COLOURS = {"brightgreen", "yellow", "orange", "red", "lightgrey"}


def badge(gpu: str, language: str = "en", **fields: str) -> Badge:
    asked = {"model": MODEL, "gpu": gpu, "top": 1, **fields}
    report = size_answer(size(embedded_sizer(), asked), say_note)
    return badge_of(report, next(name for name in LANGUAGES if name == language))


def shown(answer: Response) -> Badge:
    """Return the badge of an answer. shields.io refuses other keys, and texts that are empty."""
    assert answer.headers["content-type"] == "application/json"
    read: Badge = answer.json()
    kinds = {"schemaVersion": int, "label": str, "message": str, "color": str, "isError": bool}
    assert {key: type(value) for key, value in read.items()} == kinds
    assert read["schemaVersion"] == 1 and read["label"] and read["message"]
    assert read["color"] in COLOURS
    return read


def test_it_says_whether_the_model_runs_on_the_gpu() -> None:
    assert badge("4090", quant="q4_k_m") == {
        "schemaVersion": 1,
        "label": "GeForce RTX 4090 24GB",
        "message": f"{ENGLISH.verdict('fits')} · GGUF Q4_K_M",
        "color": "brightgreen",
        "isError": False,
    }
    assert badge("2x4090", quant="bf16")["label"] == "2 × GeForce RTX 4090 24GB"
    assert badge("4090", "pt", quant="q4_k_m")["message"] == "cabe · GGUF Q4_K_M"


@pytest.mark.parametrize(
    "gpu, quant, verdict, colour",
    [
        ("4090", "q4_k_m", "fits", "brightgreen"),
        ("1x rtx 3050 6gb", "q8_0", "offload", "orange"),
        ("1x rtx 3050 6gb", "fp8", "does_not_fit", "red"),
    ],
)
def test_colours_go_by_the_verdict(gpu: str, quant: str, verdict: str, colour: str) -> None:
    of_verdict = badge(gpu, quant=quant)
    assert ENGLISH.verdict(verdict) in of_verdict["message"]
    assert of_verdict["color"] == colour


def test_every_verdict_and_kind_of_error_has_a_colour_and_words() -> None:
    tables = toml_of(badge_file)
    assert tables["colours"].keys() == {verdict.value for verdict in Verdict}
    assert set(tables["colours"].values()) < COLOURS
    assert tables["kinds"].keys() <= STATUSES.keys()


def test_the_markdown_leads_to_the_badge_and_to_the_page() -> None:
    markdown = badge_markdown("org/name", "rtx-4090-24gb", 2)
    assert markdown is not None
    picture, page = markdown.removeprefix("[![gpusizer](").removesuffix(")").split(")](")
    drawn = urlsplit(picture)
    assert f"{drawn.scheme}://{drawn.netloc}{drawn.path}" == "https://img.shields.io/endpoint"
    (address,) = parse_qs(drawn.query, strict_parsing=True).pop("url")
    assert address.startswith(ORIGIN) and urlsplit(address).path == PATH
    assert parse_qs(urlsplit(address).query) == {"model": ["org/name"], "gpu": ["2xrtx-4090-24gb"]}
    assert page.startswith(ORIGIN)
    assert parse_qs(urlsplit(page).query) == {"model": ["org/name"], "gpus": ["2xrtx-4090-24gb"]}
    one = badge_markdown("org/name", "rtx-4090-24gb", 1)
    assert one is not None and quote("gpu=1xrtx-4090-24gb", safe="") in one
    assert badge_markdown("/home/ann/model", "rtx-4090-24gb", 1) is None
    assert badge_markdown("a/b)](https://elsewhere)", "rtx-4090-24gb", 1) is None


@pytest.fixture
def repository() -> Repository:
    return Repository()


@pytest.fixture
def client(repository: Repository) -> TestClient:
    sizer = Sizer(repository, load_catalogue())

    def for_visitor(token: str) -> Repository:
        raise AssertionError("a badge was read with somebody's rights")

    answers = Answers(sizer, for_visitor, AnswerCache(sizer))
    route = Route(PATH, badge_route(answers, Metrics()))
    return TestClient(Starlette(routes=[route]))


QUESTION = f"{PATH}?model=someone/tiny&gpu=4090&quant=native"


def test_caches_keep_it_as_they_keep_answers(client: TestClient, repository: Repository) -> None:
    first = client.get(QUESTION)
    assert (first.status_code, first.headers["cache-control"]) == (200, PUBLIC_CACHE)
    assert shown(first)["label"] == "GeForce RTX 4090 24GB"
    known = {"if-none-match": first.headers["etag"]}
    again = client.get(QUESTION, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{QUESTION}&lang=pt", headers=known).status_code == 200
    repository.snapshot = replace(repository.snapshot, sha="b" * 40)
    assert client.get(QUESTION, headers=known).status_code == 200


def test_without_a_gpu_it_names_the_best(client: TestClient) -> None:
    answer = client.get(f"{PATH}?model=someone/tiny")
    assert answer.status_code == 200 and not shown(answer)["isError"]


def test_a_token_is_not_looked_at(client: TestClient) -> None:
    sent = {"authorization": "Bearer hf_abcdefghijklmnop"}
    assert (
        client.get(QUESTION, headers=sent).headers["etag"] == client.get(QUESTION).headers["etag"]
    )


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (PrivateOrMissing(repo_id="someone/tiny"), "no such public model"),
        (GatedModel(repo_id="someone/tiny"), "gated model"),
        (HubRateLimited(repo_id="someone/tiny", retry_after_seconds=9), "busy, try later"),
        (MalformedRepo(repo_id="someone/tiny", file=HOSTILE, reason="shape"), "no answer"),
    ],
)
def test_failures_are_grey_badges_that_are_not_kept(
    client: TestClient, repository: Repository, failure: GpusizerError, words: str
) -> None:
    """shields.io reads an answer of status 200 alone."""
    repository.failure = failure
    answer = client.get(QUESTION)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert shown(answer) == {
        "schemaVersion": 1,
        "label": "gpusizer",
        "message": words,
        "color": "lightgrey",
        "isError": True,
    }
    assert ("retry-after" in answer.headers) == (words == "busy, try later")


@pytest.mark.parametrize(
    "query",
    [
        "gpu=4090",
        "model=../../etc",
        "model=someone/tiny&gpu=<script>alert(1)</script>",
        "model=someone/tiny&gpu=4090&lang=xx",
        "model=someone/tiny&nonsense=1",
        "model=a/b&model=c/d",
    ],
)
def test_hostile_questions(client: TestClient, query: str) -> None:
    answer = client.get(f"{PATH}?{query}")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert shown(answer)["isError"] and "<script" not in answer.text
