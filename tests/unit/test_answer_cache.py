"""AnswerCache: which requests are answered from the cache, and which are not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import GatedModel, InvalidRequest
from gpusizer.core.paths import data_version
from gpusizer.gpus import load_catalogue
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import say_note
from gpusizer.ui.answer_cache import AnswerCache
from tests.builders import tiny

FIELDS = {"model": "someone/tiny", "gpu": "4090"}


class Repository:
    """A source of one snapshot that changes, or fails."""

    def __init__(self) -> None:
        self.snapshot = replace(tiny(), repo_id="someone/tiny")
        self.failure: Exception | None = None

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        if self.failure is not None:
            raise self.failure
        return self.snapshot


class Counting(Sizer):
    """Counts the answers that are worked out."""

    worked_out = 0

    def size(self, fields: Any) -> Any:
        Counting.worked_out += 1
        return super().size(fields)

    def reading(self, fetch: Any) -> Sizer:
        return Counting(fetch, self.catalogue, self.quantized_repos, self.library)


@pytest.fixture
def repository() -> Repository:
    Counting.worked_out = 0
    return Repository()


@pytest.fixture
def cache(repository: Repository) -> AnswerCache:
    return AnswerCache(Counting(repository, load_catalogue()))


def test_a_repeated_request_is_answered_from_the_cache(
    cache: AnswerCache, repository: Repository
) -> None:
    first_answer = cache.size(FIELDS)
    expected = Sizer(repository, load_catalogue()).size(FIELDS).to_json(say_note)
    second_answer = cache.size({**FIELDS, "context": None})
    assert json.dumps(second_answer) == json.dumps(first_answer) == json.dumps(expected)
    assert Counting.worked_out == 1


def test_a_caller_may_change_its_answer(cache: AnswerCache) -> None:
    cache.size(FIELDS).clear()
    cache.size(FIELDS).clear()
    assert cache.size(FIELDS)["model"]["repo_id"] == "someone/tiny"


def test_a_new_commit_is_answered_anew(cache: AnswerCache, repository: Repository) -> None:
    cache.size(FIELDS)
    repository.snapshot = replace(repository.snapshot, sha="f" * 40)
    assert cache.size(FIELDS)["model"]["sha"] == "f" * 40


@pytest.mark.parametrize(
    ("name", "value"), [("source", "cache"), ("retrieved_at", "2031-01-01T00:00:00+00:00")]
)
def test_another_reading_of_the_commit_is_answered_anew(
    cache: AnswerCache, repository: Repository, name: str, value: str
) -> None:
    cache.size(FIELDS)
    repository.snapshot = replace(repository.snapshot, **{name: value})  # type: ignore[arg-type]
    assert cache.size(FIELDS)["model"][name] == value


def test_a_model_that_can_no_longer_be_read_is_an_error(
    cache: AnswerCache, repository: Repository
) -> None:
    cache.size(FIELDS)
    repository.failure = GatedModel(repo_id="someone/tiny")
    with pytest.raises(GatedModel):
        cache.size(FIELDS)


def test_listings_and_failures_are_not_cached(cache: AnswerCache) -> None:
    for _ in range(2):
        cache.size({**FIELDS, "quantized_repos": "list"})
        with pytest.raises(InvalidRequest):
            cache.size({**FIELDS, "context": "much"})
    assert Counting.worked_out == 2


def test_the_oldest_answers_go_first(repository: Repository) -> None:
    sizer = Counting(repository, load_catalogue())
    length = len(json.dumps(sizer.size(FIELDS).to_json(say_note), ensure_ascii=False))
    Counting.worked_out = 0
    cache = AnswerCache(sizer, max_characters=int(2.5 * length))
    for context in (1024, 2048, 1024, 4096, 1024, 2048):
        cache.size({**FIELDS, "context": context})
    assert Counting.worked_out == 4


def test_an_answer_larger_than_the_cache_is_returned(repository: Repository) -> None:
    cache = AnswerCache(Counting(repository, load_catalogue()), max_characters=1000)
    assert cache.size(FIELDS) == cache.size(FIELDS)
    assert Counting.worked_out == 2


def test_the_version_of_the_data_is_a_hash_of_its_files() -> None:
    assert re.fullmatch("[0-9a-f]{12}", data_version())
    assert data_version() == data_version()
