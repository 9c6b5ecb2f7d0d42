"""The question asked is the question answered, in the first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from gpusizer.cli.arguments import build_parser, request_fields
from tests.answers.questions import QUESTIONS, Typed
from tests.cli.test_cli import run
from tests.nightly import some

FIRST_LINES = 3


def fields_of(typed: Typed) -> dict[str, Any]:
    """Return the fields that the words state."""
    return request_fields(build_parser(typed.words).parse_args(list(typed.words)))


@cache
def shown_by_the_shell(typed: Typed) -> Sequence[str]:
    """Return the lines that the shell prints."""
    shown = run(*typed.words, "--offline")
    assert (shown.returncode, shown.stderr) == (0, "")
    return shown.stdout.splitlines()


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_first_lines_answer_the_question(name: str) -> None:
    typed = QUESTIONS[name]
    first = "\n".join(shown_by_the_shell(typed)[:FIRST_LINES])
    assert [text for text in typed.holds if not re.search(text, first, re.M)] == [], first
    assert [text for text in typed.lacks if re.search(text, first)] == [], first


@pytest.mark.parametrize("name", some(list(QUESTIONS), of=4))
def test_forty_lines_answer_and_more_are_one_option_away(name: str) -> None:
    brief = shown_by_the_shell(QUESTIONS[name])
    details = run(*QUESTIONS[name].words, "--offline", "--details").stdout.splitlines()
    assert len(brief) <= 40 and "--details" in brief[-1]
    assert brief[0] == details[0], "the conclusion comes first in both"
    assert len("".join(details)) > len("".join(brief))
