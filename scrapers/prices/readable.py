"""Rows of a price list of which a few may be unreadable. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Entry = TypeVar("Entry")
Made = TypeVar("Made")

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError)
_LARGEST_SHARE = 0.05


def readable(entries: Iterable[Entry], make: Callable[[Entry], Made]) -> list[Made]:
    """Make a row of each entry, leaving out those of which none can be made.

    Raises ValueError where they are more than one and more than 5%: the format has changed.
    """
    rows: list[Made] = []
    failures: list[Any] = []
    for entry in entries:
        try:
            rows.append(make(entry))
        except _UNREADABLE as error:
            failures.append(error)
    if len(failures) > max(1, _LARGEST_SHARE * (len(rows) + len(failures))) or (
        failures and not rows
    ):
        raise ValueError(f"{len(failures)} rows cannot be read, the first by {failures[0]!r}")
    return rows
