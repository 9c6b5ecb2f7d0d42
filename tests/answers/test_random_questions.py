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

from bench.random_questions import Asked, Wrong, questions
from tests.nightly import NIGHTLY

COUNT = 3_000 if NIGHTLY else 40
SEED = datetime.now(UTC).toordinal() if NIGHTLY else 1
_LEAST_ANSWERED = 0.4


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
