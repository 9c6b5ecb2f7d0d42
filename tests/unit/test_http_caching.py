"""What a cache in front of /v1 may keep while a repository changes, and when it is told to wait."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import GatedModel, GpusizerError, HubUnreachable, ServerBusy
from gpusizer.gpus import load_catalogue
from gpusizer.text import LANGUAGES, Language, say_error
from gpusizer.ui.answer_cache import AnswerCache
from gpusizer.ui.answers import Answers
from gpusizer.ui.endpoints import PUBLIC
from gpusizer.ui.http_api import http_api
from gpusizer.ui.metrics import Metrics
from gpusizer.ui.work_pool import WorkPool
from tests.one_repository import Repository

QUESTION = "/size?model=someone/tiny&gpu=4090&quant=native"


@pytest.fixture
def repository() -> Repository:
    return Repository()


def client_of(repository: Repository, *, waiting: int = 8) -> TestClient:
    sizer = Sizer(repository, load_catalogue())
    answers = Answers(sizer, lambda token: repository, AnswerCache(sizer))
    return TestClient(http_api(answers, PUBLIC, WorkPool(1, waiting), Metrics()))


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
