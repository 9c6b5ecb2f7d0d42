"""Types of values known only at run time: JSON of strangers, arguments by name."""

# Values of answers have types in `gpusizer.api`.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

# Any value that JSON has. A reader narrows it before use: hostile files may hold anything.
JsonValue: TypeAlias = (
    "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
JsonObject = Mapping[str, JsonValue]

# keyword arguments put together at run time for a dataclass with these fields
Arguments = dict[str, Any]
# An object of our own files. Readers rely on its form, and raise KeyError, TypeError or ValueError
# for another.
StoredObject = Mapping[str, Any]


def object_in(value: JsonValue) -> JsonObject:
    """Return the value if it is an object, else an empty object.

    >>> object_in({"bits": 4}), object_in("4 bits")
    ({'bits': 4}, {})
    """
    return value if isinstance(value, dict) else {}


def list_in(value: JsonValue) -> list[JsonValue]:
    """Return the value if it is a list, else an empty list.

    >>> list_in([4, 8]), list_in("4 bits")
    ([4, 8], [])
    """
    return value if isinstance(value, list) else []


def read_day(value: JsonValue, latest: date) -> date | None:
    """Parse the day of a time in ISO 8601; None for another value and for a day to come."""
    try:
        day = date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
    return day if day is not None and day <= latest else None


def whole_in(value: JsonValue, most: int) -> int:
    """Return the value if it is a whole number from 1 to `most`, else 0.

    >>> whole_in(14, 8192), whole_in(14.5, 8192), whole_in(True, 8192), whole_in(10**9, 8192)
    (14, 0, 0, 0)
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and isinstance(value, int) and 0 < value <= most else 0
