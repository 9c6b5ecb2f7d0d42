"""Random questions to `/v1` end in an answer of the contract or in an error of ours.

By day a few are asked, the same ones each time; at night many new ones. `bench.random_questions`
asks as many as one has time for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import pytest

from bench.random_questions import Asked, Question, Wrong, questions
from gpusizer.ui.server import answer_cache
from tests.nightly import NIGHTLY

COUNT = 3_000 if NIGHTLY else 40
SEED = datetime.now(UTC).toordinal() if NIGHTLY else 1
_LEAST_ANSWERED = 0.4
QUESTION = Question("gpus", (("query", "4090"),))


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    made = Asked()
    yield made
    made.close()


def test_no_random_question_fails(asked: Asked) -> None:
    wrong: dict[str, str] = {}
    statuses: Counter[int] = Counter()
    for question in islice(questions(SEED), COUNT):
        try:
            statuses[asked.status_of(question)] += 1
        except Wrong as error:
            wrong[str(error)] = question.path
    assert wrong == {}
    assert statuses[200] >= _LEAST_ANSWERED * COUNT


def test_a_seed_draws_the_same_questions() -> None:
    first, again, other = (list(islice(questions(seed), 20)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_failure_is_wrong(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked.status_of(QUESTION) == 200

    def fail(*_: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(answer_cache, "_text", fail)
    with pytest.raises(Wrong, match=r"^AssertionError at .*fail:\d+$"):
        asked.status_of(Question("gpus", (("query", "h100"),)))


@pytest.mark.parametrize(
    "body, why", [(b'{"count":NaN}', "NaN is no number"), (b'{"count":1}', "Field required")]
)
def test_another_form_is_wrong(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, body: bytes, why: str
) -> None:
    monkeypatch.setattr(answer_cache, "_text", lambda *_: body)
    with pytest.raises(Wrong, match=why):
        asked.status_of(Question("gpus", (("query", why),)))
