"""Checks of single request fields: what people and programs write, to what plans hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpusizer.errors import InvalidRequest

Parser = Callable[[str, Any], Any]
_MAX_LIST = 64
_MAX_TEXT = 300


def fail(field: str, value: Any, reason: str, **facts: str | float) -> InvalidRequest:
    """The error of one field."""
    return InvalidRequest(field=field, value=str(value)[:80], reason=reason, **facts)


def integer(low: int, high: int) -> Parser:
    """A whole number from `low` to `high`, also written "8,192"."""

    def parse(field: str, value: Any) -> int:
        if isinstance(value, str):
            text = value.strip().replace("_", "").replace(",", "")
            value = int(text) if text.removeprefix("-").isdecimal() and len(text) < 16 else value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise fail(field, value, "not_an_integer")
        if not low <= value <= high:
            raise fail(field, value, "out_of_range", low=low, high=high)
        return value

    return parse


def number(low: float, high: float) -> Parser:
    """A number from `low` to `high`."""

    def parse(field: str, value: Any) -> float:
        try:
            parsed = float(value)
        except (TypeError, ValueError, OverflowError):
            raise fail(field, value, "not_a_number") from None
        if isinstance(value, bool) or not low <= parsed <= high:
            raise fail(field, value, "out_of_range", low=low, high=high)
        return parsed

    return parse


def flag(field: str, value: Any) -> bool:
    """True or false, also as words."""
    known = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.strip().lower() not in known:
        raise fail(field, value, "not_a_boolean")
    return known[value.strip().lower()]


def text(field: str, value: Any) -> str:
    """Text of bounded length."""
    if not isinstance(value, str):
        raise fail(field, value, "not_text")
    if len(value) > _MAX_TEXT:
        raise fail(field, value, "too_long")
    return value.strip()


def texts(field: str, value: Any) -> tuple[str, ...]:
    """A list, or text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise fail(field, value, "not_a_list")
    if len(items) > _MAX_LIST:
        raise fail(field, f"{len(items)} items", "out_of_range", low=0, high=_MAX_LIST)
    return tuple(one for one in (text(field, item) for item in items) if one)


def one_of(choices: tuple[str, ...], also: Mapping[str, str] | None = None) -> Parser:
    """One of the choices, or a spelling of one in `also`."""

    def parse(field: str, value: Any) -> str:
        if isinstance(value, bool):
            value = str(value)
        word = text(field, value).lower().replace(" ", "")
        word = (also or {}).get(word, word)
        if word not in choices:
            raise fail(field, value, "not_one_of", choices=", ".join(choices))
        return word

    return parse
