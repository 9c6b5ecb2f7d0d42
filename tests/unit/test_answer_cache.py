"""AnswerCache: which requests are answered from the cache, and which are not."""

from __future__ import annotations

import gc
import json
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.errors import GatedModel, HubUnreachable, InvalidRequest
from gpusizer.gpus import load_catalogue
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.ui.server.answer_cache import AnswerCache
from gpusizer.usecases.sizer import Sizer
from tests.asking import size as sized
from tests.builders import tiny
from tests.documents import written

FIELDS = {"model": "someone/tiny", "gpu": "4090"}


class Repository:
    """A source of one snapshot that changes, or fails."""

    def __init__(self) -> None:
        self.snapshot = replace(tiny(), repo_id="someone/tiny")
        self.failure: Exception | None = None
        self.reads = 0

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        self.reads += 1
        if self.failure is not None:
            raise self.failure
        return self.snapshot


class Counting(Sizer):
    """Counts the answers that are worked out."""

    worked_out = 0

    def question(self, request: Any) -> Any:
        Counting.worked_out += 1
        return super().question(request)

    def reading(self, fetch: Any) -> Sizer:
        return Counting(fetch, self.catalogue, self.quantized_repos, self.library)


def size(cache: AnswerCache, fields: dict[str, Any]) -> dict[str, Any]:
    return cache.answer("size", fields).json()


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
    first_answer = size(cache, FIELDS)
    expected = written(sized(Sizer(repository, load_catalogue()), FIELDS))
    second_answer = size(cache, {**FIELDS, "context": None})
    assert json.dumps(second_answer) == json.dumps(first_answer) == json.dumps(expected)
    assert Counting.worked_out == 1


def test_a_caller_may_change_its_answer(cache: AnswerCache) -> None:
    size(cache, FIELDS).clear()
    size(cache, FIELDS).clear()
    assert size(cache, FIELDS)["model"]["repo_id"] == "someone/tiny"


def test_a_new_commit_is_answered_anew(cache: AnswerCache, repository: Repository) -> None:
    size(cache, FIELDS)
    repository.snapshot = replace(repository.snapshot, sha="f" * 40)
    assert size(cache, FIELDS)["model"]["sha"] == "f" * 40


def test_a_model_that_can_no_longer_be_read_is_an_error(
    cache: AnswerCache, repository: Repository
) -> None:
    size(cache, FIELDS)
    repository.failure = GatedModel(repo_id="someone/tiny")
    with pytest.raises(GatedModel):
        size(cache, FIELDS)


def test_listings_and_failures_are_not_cached(cache: AnswerCache) -> None:
    for _ in range(2):
        size(cache, {**FIELDS, "quantized_repos": "list"})
        with pytest.raises(InvalidRequest):
            size(cache, {**FIELDS, "context": "much"})
    assert Counting.worked_out == 2


def version(cache: AnswerCache, **fields: Any) -> str:
    return cache.answer("size", {**FIELDS, **fields}).version


def test_a_version_names_request_commit_and_language(
    cache: AnswerCache, repository: Repository
) -> None:
    first = version(cache)
    repository.snapshot = replace(repository.snapshot, retrieved_at="2031-01-01T00:00:00+00:00")
    assert version(cache, context="8,192") == first, "the same question about the same commit"
    others = {version(cache, context=4096), cache.answer("size", FIELDS, "zh").version}
    repository.snapshot = replace(repository.snapshot, sha="f" * 40)
    assert len({first, *others, version(cache)}) == 4


def test_a_new_base_of_an_adapter_is_another_version(
    cache: AnswerCache, repository: Repository
) -> None:
    """The commit of an adapter says nothing of the base model whose tensors it is read with."""
    (component,) = repository.snapshot.components
    repository.snapshot = replace(repository.snapshot, format="adapter", sha="a" * 40)
    first = version(cache)
    other_base = replace(component, files=component.files[:1], config={**(component.config or {})})
    larger = replace(other_base, tensors=(*component.tensors, component.tensors[0]))
    repository.snapshot = replace(repository.snapshot, components=(larger,))
    assert version(cache) != first


@pytest.mark.parametrize("question", ["size", "train", "compare", "models-for"])
def test_answers_about_gated_models_are_not_for_every_cache(
    cache: AnswerCache, repository: Repository, question: str
) -> None:
    models = {"models": "someone/tiny"} if question == "models-for" else {"model": "someone/tiny"}
    fields = {**models, "gpus" if question == "compare" else "gpu": "4090"}
    assert cache.answer(question, fields).is_public
    repository.snapshot = replace(repository.snapshot, gated=True)
    assert not cache.answer(question, fields).is_public


def test_an_answer_that_leaves_a_model_out_is_not_kept(
    cache: AnswerCache, repository: Repository
) -> None:
    fields = {"gpu": "4090", "models": "someone/tiny"}
    repository.failure = HubUnreachable(repo_id="someone/tiny", reason="timeout")
    failed = cache.answer("models-for", fields)
    assert not failed.is_public and failed.json()["unread"]
    assert cache.answers == 0
    repository.failure = None
    assert cache.answer("models-for", fields).json()["unread"] == []
    assert cache.answers == 1


def test_a_model_is_read_once_for_an_answer(cache: AnswerCache, repository: Repository) -> None:
    size(cache, FIELDS)
    repository.reads = 0
    repository.snapshot = replace(repository.snapshot, sha="e" * 40)
    size(cache, FIELDS)
    assert repository.reads == 1


class KnownRepository(Repository):
    """One whose snapshot is known, but for a while."""

    is_known = True

    def known(self, ref: ModelRef) -> RepoSnapshot | None:
        return self.snapshot if self.is_known else None


def test_what_is_known_is_answered_without_reading_or_working() -> None:
    repository, lookups = KnownRepository(), list[str]()
    cache = AnswerCache(Counting(repository, load_catalogue()), on_lookup=lookups.append)
    assert cache.known("size", FIELDS) is None
    answer = cache.answer("size", FIELDS)
    Counting.worked_out = repository.reads = 0
    assert cache.known("size", {**FIELDS, "context": None}) is answer
    assert cache.known("size", FIELDS, "pt") is None
    repository.is_known = False
    assert cache.known("size", FIELDS) is None
    repository.is_known, repository.snapshot = True, replace(repository.snapshot, sha="b" * 40)
    assert cache.known("size", FIELDS) is None
    assert (Counting.worked_out, repository.reads, lookups) == (0, 0, ["miss", "hit"])
    with pytest.raises(InvalidRequest):
        cache.known("size", {"model": "someone/tiny", "context": -1})


def test_the_cache_takes_the_memory_that_it_says(repository: Repository) -> None:
    """Answers about GPUs that do not exist are far smaller than what is kept beside them."""
    cache = AnswerCache(Sizer(repository, load_catalogue()))
    cache.answer("gpus", {"query": "no such card"})
    tracemalloc.start()
    try:
        traced_before, counted_before = _traced_after(cache, range(100, 120)), cache.size_bytes
        growth = _traced_after(cache, range(1000, 1040)) - traced_before
    finally:
        tracemalloc.stop()
    assert 0 < growth < 1.2 * (cache.size_bytes - counted_before)


def _traced_after(cache: AnswerCache, numbers: range) -> int:
    """Return bytes that Python has in use after questions about different cards."""
    for number in numbers:
        cache.answer("gpus", {"query": f"no such card {number}"})
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
