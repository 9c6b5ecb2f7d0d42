"""What every answer is held to: the form of the contract, and numbers that JSON has."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

from gpusizer.usecases.contract.answers import ANSWERS, ErrorAnswer

_ERROR = TypeAdapter(ErrorAnswer)


@cache
def exactly(question: str) -> type[BaseModel]:
    """A model whose `answer` has the form of the question: nothing beside it, nothing converted."""
    strict = ConfigDict(extra="forbid", strict=True)
    fields: dict[str, Any] = {"answer": (ANSWERS[question], ...)}
    return create_model("Exactly", __config__=strict, **fields)


def check_answer(question: str, body: bytes) -> None:
    """Raise ValueError for an answer that is not the contract's, or that has NaN or infinity."""
    json.loads(body, parse_constant=_refuse)
    exactly(question).model_validate_json(b'{"answer":%b}' % body)


def check_error(body: bytes) -> None:
    """Raise ValueError for an error object that is not the contract's."""
    _ERROR.validate_json(body, strict=True)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
