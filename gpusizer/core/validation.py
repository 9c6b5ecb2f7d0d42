"""Types of request fields: conversion of the values that people and programs write."""

# pydantic reads and bounds them. Our validators raise `Refused` with a reason that `gpusizer.text`
# has words for; `gpusizer.core.request_model` translates both kinds of errors.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeGuard

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, PlainValidator
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from gpusizer.core.errors import InvalidRequest

_MAX_LIST = 64
MAX_TEXT_CHARS = 300


class Refused(ValueError):
    """A value that a validator refuses; pydantic collects these, as it does every ValueError."""

    # `reason` is a key of the sentences in `gpusizer.text`, `facts` fill the sentence; `value` is
    # the part at fault, None for the whole value
    def __init__(self, reason: str, value: str | None = None, **facts: str | float) -> None:
        self.reason = reason
        self.value = value
        self.facts = facts
        super().__init__(reason)


def fail(field: str, value: object, reason: str, **facts: str | float) -> InvalidRequest:
    """Return the error of one field."""
    return InvalidRequest(field=field, value=str(value)[:80], reason=reason, **facts)


def read_text(value: object) -> str:
    """Return text of bounded length."""
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    if len(value) > MAX_TEXT_CHARS:
        raise PydanticKnownError("string_too_long", {"max_length": MAX_TEXT_CHARS})
    return value.strip()


def split_commas(value: object) -> object:
    """Return the items of a text with commas; any other value unchanged."""
    return value.split(",") if isinstance(value, str) else value


def are_texts(items: object) -> TypeGuard[Sequence[str]]:
    """Return whether these are texts of bounded length and number."""
    return (
        isinstance(items, list | tuple)
        and len(items) <= _MAX_LIST
        and all(isinstance(item, str) and len(item) <= MAX_TEXT_CHARS for item in items)
    )


def _whole(value: object) -> object:
    # "8,192" is a whole number
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value.replace(",", "") if isinstance(value, str) else value


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("finite_number")
    return value


def _word(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Unit:
    """Placeholder of a field's value in `--help`: `--context TOKENS`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """A field's choices, with other `spellings` of them. Case and spaces do not count."""

    choices: tuple[str, ...]
    spellings: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: object) -> str:
        """Return the choice that `value` spells. Raise Refused for another value."""
        text = str(value) if isinstance(value, bool) else value
        word = read_text(text).lower().replace(" ", "")
        word = self.spellings.get(word, word)
        if word not in self.choices:
            raise Refused("not_one_of", str(text), choices=", ".join(self.choices))
        return word

    def __get_pydantic_core_schema__(self, _: object, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)


Count = Annotated[int, BeforeValidator(_whole), Unit("N")]
Tokens = Annotated[Count, Unit("TOKENS")]
Pixels = Annotated[Count, Unit("PIXELS")]
Number = Annotated[float, BeforeValidator(_number), Unit("N")]
Share = Annotated[Number, Unit("SHARE")]
Usd = Annotated[Number, Unit("USD")]
Watts = Annotated[Number, Unit("W")]
Hours = Annotated[Number, Unit("HOURS")]
Years = Annotated[Number, Unit("YEARS")]
Flag = Annotated[bool, BeforeValidator(_word), Unit("BOOL")]
# Python's own text: pydantic's would refuse lone surrogates, which have error codes of their own.
Text = Annotated[str, PlainValidator(read_text), Unit("TEXT")]
# a list, or text with commas; empty items are left out
Texts = Annotated[
    tuple[Text, ...],
    Field(max_length=_MAX_LIST),
    BeforeValidator(split_commas),
    AfterValidator(lambda texts: tuple(filter(None, texts))),
    Unit("NAMES"),
]
