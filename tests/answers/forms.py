"""Checks of every answer: against the model of its question, and for numbers that JSON has."""

from __future__ import annotations

import json
from typing import NoReturn

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import AnswerModel
from gpusizer.api.errors import ErrorAnswer


def check_answer(question: str, body: bytes) -> None:
    """Raise ValueError for an answer that is not its model's: a field that it has not, lacks or has
    of another type; NaN or infinity."""
    _check(ANSWERS[question].model, body)


def check_error(body: bytes) -> None:
    """Raise ValueError for an error object that is not the contract's."""
    _check(ErrorAnswer, body)


def _check(model: type[AnswerModel], body: bytes) -> None:
    document = json.loads(body, parse_constant=_refuse)
    # As text, in which 18 is not 18.0.
    read = model.from_json(document).document()
    if json.dumps(read, sort_keys=True) != json.dumps(document, sort_keys=True):
        raise ValueError(f"{model.__name__} has other fields or types")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
