"""No question at round rates and lengths ends in anything but an answer or an error of ours.

By day a few of each part of the matrix are asked, the same ones each time, at night all.
"""

from __future__ import annotations

import random

import pytest

from gpusizer.core.errors import GpusizerError
from gpusizer.text import say_error, say_note
from gpusizer.usecases.use_cases import USE_CASES
from tests.answers.forms import check_answer
from tests.answers.matrix import PARTS, Case
from tests.nightly import NIGHTLY
from tests.sizers import embedded_sizer

_LEAST_ANSWERED = 0.4
"""Of the cases of a part; the others are refused, as engines that lack a quantization are."""
_MOST_SHOWN = 10


def cases_of(part: str) -> list[Case]:
    make, by_day = PARTS[part]
    cases = list(make())
    return cases if NIGHTLY else random.Random(part).sample(cases, by_day)


def is_answered(case: Case) -> bool:
    """Whether there is an answer, of the contract's form; False for an error in words."""
    question, fields = case
    try:
        answered = USE_CASES[question].ask(embedded_sizer(), fields)
    except GpusizerError as error:
        assert error.code != "internal" and say_error(error)
        return False
    check_answer(question, answered.json_bytes(say_note))
    return True


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_matrix_is_answered(part: str) -> None:
    cases, failures, answered = cases_of(part), [], 0
    for case in cases:
        try:
            answered += is_answered(case)
        except Exception as error:
            error.add_note(f"case: {case!r}"[:1000])
            failures.append(error)
    if failures:
        message = f"{len(failures)} of {len(cases)} cases fail"
        raise ExceptionGroup(message, failures[:_MOST_SHOWN])
    assert answered >= _LEAST_ANSWERED * len(cases)
