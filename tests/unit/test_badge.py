"""The badge: its words, colours and width, its caching, and that nothing in it runs."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import (
    GatedModel,
    GpusizerError,
    HubRateLimited,
    MalformedRepo,
    PrivateOrMissing,
)
from gpusizer.gpus import load_catalogue
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.presenters.badge import Badge, badge_markdown, badge_of, error_badge
from gpusizer.ui.questions.answer_cache import AnswerCache, Answers
from gpusizer.ui.questions.metrics import Metrics
from gpusizer.ui.server.badge_route import PATH, badge_route
from gpusizer.ui.server.http_api import PUBLIC_CACHE
from tests.asking import size
from tests.one_repository import Repository
from tests.pages import ENGLISH, contrast
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>\"' onload=x ]]> &amp; \x00\ud800"


def badge(gpu: str, language: str = "en", **fields: str) -> Badge:
    asked = {"model": MODEL, "gpu": gpu, "top": 1, **fields}
    report = size(embedded_sizer(), asked).to_json(say_note)
    return badge_of(report, next(name for name in LANGUAGES if name == language))


def drawn(picture: Badge | str) -> tuple[str, list[str]]:
    """The title of a picture and its texts, which are all that it holds beside rectangles."""
    root = ElementTree.fromstring(str(picture.svg()) if isinstance(picture, Badge) else picture)
    assert {child.tag for child in root} == {f"{SVG}title", f"{SVG}rect", f"{SVG}text"}
    title = root.find(f"{SVG}title")
    assert title is not None
    return title.text or "", [text.text or "" for text in root.findall(f"{SVG}text")]


def test_it_says_whether_the_model_runs_on_the_gpu() -> None:
    title, texts = drawn(badge("4090", quant="q4_k_m"))
    assert texts == ["GeForce RTX 4090 24GB", f"{ENGLISH.verdict('fits')} · GGUF Q4_K_M"]
    assert title.startswith(f"{MODEL} · ")
    assert drawn(badge("2x4090", quant="bf16"))[1][0] == "2 × GeForce RTX 4090 24GB"


@pytest.mark.parametrize(
    ("gpu", "quant", "verdict"),
    [
        ("4090", "q4_k_m", "fits"),
        ("1x rtx 3050 6gb", "q8_0", "offload"),
        ("1x rtx 3050 6gb", "fp8", "does_not_fit"),
    ],
)
def test_colours_go_by_the_verdict(gpu: str, quant: str, verdict: str) -> None:
    shown = badge(gpu, quant=quant)
    assert ENGLISH.verdict(verdict) in shown.value
    others = {badge("4090", quant="q4_k_m").colour, badge("1x rtx 3050 6gb", quant="fp8").colour}
    assert len(others) == 2 and (shown.colour in others) == (verdict != "offload")


def test_its_words_can_be_read() -> None:
    colours = {
        element.get("fill", "")
        for gpu, quant in (("4090", "q4_k_m"), ("1x rtx 3050 6gb", "fp8"))
        for element in ElementTree.fromstring(str(badge(gpu, quant=quant).svg()))
        if element.tag == f"{SVG}rect"
    }
    colours.add(error_badge(GatedModel(repo_id="a/b"), "", "en").colour)
    assert len(colours) == 4
    assert all(contrast(colour, "#ffffff") >= 4.5 for colour in colours)


def test_hostile_texts_are_inert() -> None:
    picture = Badge(HOSTILE, HOSTILE, "#57606a", HOSTILE)
    title, texts = drawn(picture)
    assert "<script>" in title and "<script>" in texts[0]  # as text
    assert "<script" not in str(picture.svg()) and "\x00" not in str(picture.svg())


def test_a_long_name_is_cut() -> None:
    _, (label, _) = drawn(Badge("x" * 500, "y", "#57606a", ""))
    assert len(label) == 60


def test_the_markdown_leads_to_the_badge_and_to_the_page() -> None:
    markdown = badge_markdown("org/name", "rtx-4090-24gb", 2)
    assert markdown is not None
    picture, page = markdown.removeprefix("[![gpusizer](").removesuffix(")").split(")](")
    assert urlsplit(picture).path == "/badge"
    assert parse_qs(urlsplit(picture).query) == {"model": ["org/name"], "gpu": ["2xrtx-4090-24gb"]}
    assert parse_qs(urlsplit(page).query) == {"model": ["org/name"], "gpus": ["2xrtx-4090-24gb"]}
    one = badge_markdown("org/name", "rtx-4090-24gb", 1)
    assert one is not None and "gpu=1xrtx-4090-24gb" in one
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
    assert (first.status_code, first.headers["content-type"]) == (200, "image/svg+xml")
    assert first.headers["cache-control"] == PUBLIC_CACHE
    assert first.headers["content-security-policy"].startswith("default-src 'none'")
    assert drawn(first.text)[1][0] == "GeForce RTX 4090 24GB"
    known = {"if-none-match": first.headers["etag"]}
    again = client.get(QUESTION, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{QUESTION}&lang=pt", headers=known).status_code == 200
    repository.snapshot = replace(repository.snapshot, sha="b" * 40)
    assert client.get(QUESTION, headers=known).status_code == 200


def test_without_a_gpu_it_names_the_best(client: TestClient) -> None:
    answer = client.get(f"{PATH}?model=someone/tiny")
    assert answer.status_code == 200 and drawn(answer.text)[1][0]


def test_a_token_is_not_looked_at(client: TestClient) -> None:
    sent = {"authorization": "Bearer hf_abcdefghijklmnop"}
    assert (
        client.get(QUESTION, headers=sent).headers["etag"] == client.get(QUESTION).headers["etag"]
    )


@pytest.mark.parametrize(
    ("failure", "status", "words"),
    [
        (PrivateOrMissing(repo_id="someone/tiny"), 404, "no such public model"),
        (GatedModel(repo_id="someone/tiny"), 403, "gated model"),
        (HubRateLimited(repo_id="someone/tiny", retry_after_seconds=9), 429, "busy, try later"),
        (MalformedRepo(repo_id="someone/tiny", file=HOSTILE, reason="shape"), 422, "no answer"),
    ],
)
def test_failures_are_grey_with_their_status(
    client: TestClient, repository: Repository, failure: GpusizerError, status: int, words: str
) -> None:
    repository.failure = failure
    answer = client.get(QUESTION)
    assert (answer.status_code, answer.headers["cache-control"]) == (status, "no-store")
    title, texts = drawn(answer.text)
    assert texts == ["gpusizer", words] and "someone/tiny" in title
    assert "#57606a" in answer.text and "<script" not in answer.text
    assert ("retry-after" in answer.headers) == (status == 429)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("gpu=4090", 400),
        ("model=../../etc", 400),
        ("model=someone/tiny&gpu=<script>alert(1)</script>", 400),
        ("model=someone/tiny&gpu=4090&lang=xx", 400),
        ("model=someone/tiny&nonsense=1", 400),
        ("model=a/b&model=c/d", 400),
    ],
)
def test_hostile_questions(client: TestClient, query: str, status: int) -> None:
    answer = client.get(f"{PATH}?{query}")
    assert answer.status_code == status
    drawn(answer.text)
    assert "<script" not in answer.text
