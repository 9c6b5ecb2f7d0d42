"""Answers that are given again, and when they are not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.errors import GatedModel, InvalidRequest
from gpusizer.gpus import load_catalogue
from gpusizer.hub_id import ModelRef
from gpusizer.sizer import Sizer
from gpusizer.snapshot import RepoSnapshot
from gpusizer.text import say_note
from gpusizer.ui.kept import KeptAnswers
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
        return Counting(fetch, self.catalogue, self.quantized_repos, self.shelf)


@pytest.fixture
def repository() -> Repository:
    Counting.worked_out = 0
    return Repository()


@pytest.fixture
def kept(repository: Repository) -> KeptAnswers:
    return KeptAnswers(Counting(repository, load_catalogue()), entries=2)


def test_the_same_answer_without_the_work(kept: KeptAnswers, repository: Repository) -> None:
    first = kept.size(FIELDS)
    expected = Sizer(repository, load_catalogue()).size(FIELDS).to_json(say_note)
    again = kept.size({**FIELDS, "context": None})
    assert json.dumps(again) == json.dumps(first) == json.dumps(expected)
    assert Counting.worked_out == 1


def test_a_caller_may_change_its_answer(kept: KeptAnswers) -> None:
    kept.size(FIELDS).clear()
    kept.size(FIELDS).clear()
    assert kept.size(FIELDS)["model"]["repo_id"] == "someone/tiny"


def test_a_new_commit_is_answered_anew(kept: KeptAnswers, repository: Repository) -> None:
    kept.size(FIELDS)
    repository.snapshot = replace(repository.snapshot, sha="f" * 40)
    assert kept.size(FIELDS)["model"]["sha"] == "f" * 40


def test_what_can_no_longer_be_read_is_not_answered(
    kept: KeptAnswers, repository: Repository
) -> None:
    kept.size(FIELDS)
    repository.failure = GatedModel(repo_id="someone/tiny")
    with pytest.raises(GatedModel):
        kept.size(FIELDS)


def test_listings_and_failures_are_not_kept(kept: KeptAnswers) -> None:
    for _ in range(2):
        kept.size({**FIELDS, "quantized_repos": "list"})
        with pytest.raises(InvalidRequest):
            kept.size({**FIELDS, "context": "much"})
    assert Counting.worked_out == 2


def test_the_oldest_answers_go_first(kept: KeptAnswers) -> None:
    for context in (1024, 2048, 1024, 4096, 1024, 2048):
        kept.size({**FIELDS, "context": context})
    assert Counting.worked_out == 4
