"""Values whose types are known only once they are read: JSON of strangers, arguments by name.

What answers hold is known by name (`gpusizer.api`); here is what is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

JsonValue: TypeAlias = (
    "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""Any value that JSON has. A reader narrows it before use: hostile files hold what they like."""
JsonObject = Mapping[str, JsonValue]

Arguments = dict[str, Any]
"""Keyword arguments that are put together at run time, as a dataclass of the same fields takes."""
StoredObject = Mapping[str, Any]
"""An object of our own files. Who reads it relies on its form, and raises KeyError, TypeError or
ValueError for another."""


def object_in(value: JsonValue) -> JsonObject:
    """The value if it is an object; an empty one for all else.

    >>> object_in({"bits": 4}), object_in("4 bits")
    ({'bits': 4}, {})
    """
    return value if isinstance(value, dict) else {}


def list_in(value: JsonValue) -> list[JsonValue]:
    """The value if it is a list; an empty one for all else.

    >>> list_in([4, 8]), list_in("4 bits")
    ([4, 8], [])
    """
    return value if isinstance(value, list) else []
