"""Readers of single request fields: what people and programs write -> values that plans hold.

A reader raises `Refused` with a reason that `gpusizer.text` has words for;
`gpusizer.core.request_model` turns it into InvalidRequest, which also names the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, SupportsFloat

from pydantic import BeforeValidator, GetCoreSchemaHandler, PlainValidator
from pydantic_core import CoreSchema, core_schema

from gpusizer.core.errors import InvalidRequest

_MAX_LIST = 64
_MAX_TEXT = 300
_FLAGS = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False}


class Refused(ValueError):
    """A value that cannot be read. pydantic collects these, as it does every ValueError.

    `value` is the part at fault, `reason` a key of the sentences in `gpusizer.text`, `facts` what
    the sentence mentions.
    """

    def __init__(self, value: object, reason: str, **facts: str | float) -> None:
        self.value = value
        self.reason = reason
        self.facts = facts
        super().__init__(reason)


def fail(field: str, value: object, reason: str, **facts: str | float) -> InvalidRequest:
    """The error of one field."""
    return InvalidRequest(field=field, value=str(value)[:80], reason=reason, **facts)


def read_integer(value: object) -> int:
    """A whole number, also written "8,192" or 8192.0."""
    if isinstance(value, str):
        text = value.strip().replace("_", "").replace(",", "")
        value = int(text) if text.removeprefix("-").isdecimal() and len(text) < 16 else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(value, "not_an_integer")
    return value


def read_number(value: object) -> float:
    """A number, also as text; true and false are none."""
    if isinstance(value, bool):
        raise Refused(value, "out_of_range")
    if not isinstance(value, str | SupportsFloat):
        raise Refused(value, "not_a_number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise Refused(value, "not_a_number") from None


def read_flag(value: object) -> bool:
    """True or false, also as words."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _FLAGS:
        raise Refused(value, "not_a_boolean")
    return _FLAGS[word]


def read_text(value: object) -> str:
    """Text of bounded length."""
    if not isinstance(value, str):
        raise Refused(value, "not_text")
    if len(value) > _MAX_TEXT:
        raise Refused(value, "too_long")
    return value.strip()


def read_texts(value: object) -> tuple[str, ...]:
    """A list, or text with commas; empty items are left out."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise Refused(value, "not_a_list")
    if len(items) > _MAX_LIST:
        raise Refused(f"{len(items)} items", "out_of_range", low=0, high=_MAX_LIST)
    return tuple(text for text in map(read_text, items) if text)


@dataclass(frozen=True, slots=True)
class Unit:
    """What stands for a field's value in `--help`: `--context TOKENS`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """A field's choices, with other `spellings` of them. Case and spaces do not count."""

    choices: tuple[str, ...]
    spellings: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: object) -> str:
        """The choice that `value` spells."""
        text = str(value) if isinstance(value, bool) else value
        word = read_text(text).lower().replace(" ", "")
        word = self.spellings.get(word, word)
        if word not in self.choices:
            raise Refused(text, "not_one_of", choices=", ".join(self.choices))
        return word

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, json_schema_input_schema=core_schema.literal_schema(list(self.choices))
        )


def listed(read: Callable[[object], tuple[str, ...]]) -> PlainValidator:
    """What reads a list of texts."""
    return PlainValidator(read, json_schema_input_type=list[str])


def written(read: Callable[[object], str]) -> PlainValidator:
    """What reads a text."""
    return PlainValidator(read, json_schema_input_type=str)


Count = Annotated[int, BeforeValidator(read_integer), Unit("N")]
Tokens = Annotated[int, BeforeValidator(read_integer), Unit("TOKENS")]
Pixels = Annotated[int, BeforeValidator(read_integer), Unit("PIXELS")]
Number = Annotated[float, BeforeValidator(read_number), Unit("N")]
Share = Annotated[float, BeforeValidator(read_number), Unit("SHARE")]
Usd = Annotated[float, BeforeValidator(read_number), Unit("USD")]
Watts = Annotated[float, BeforeValidator(read_number), Unit("W")]
Hours = Annotated[float, BeforeValidator(read_number), Unit("HOURS")]
Years = Annotated[float, BeforeValidator(read_number), Unit("YEARS")]
Flag = Annotated[bool, BeforeValidator(read_flag), Unit("BOOL")]
# Python's own text: pydantic's would refuse lone surrogates, which have error codes of their own.
Text = Annotated[str, written(read_text), Unit("TEXT")]
Texts = Annotated[tuple[str, ...], listed(read_texts), Unit("NAMES")]
