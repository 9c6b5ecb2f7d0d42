"""Parser of JSON in untrusted files, within bounds of memory and depth."""

from __future__ import annotations

import json
from collections.abc import Callable

from gpusizer.core.errors import MalformedRepo
from gpusizer.core.loose_values import JsonValue
from gpusizer.core.units import MIB
from scrapers.limits import JSON_MEMORY_BYTES

Pairs = list[tuple[str, JsonValue]]


_SPARE_BYTES = 24 * MIB
_MEMORY_PER_BYTE = 16


class DuplicateKey(ValueError):
    """Raised for an object with two members of one key."""


def parse_object(
    data: bytes, repo_id: str, path: str, max_depth: int | None = None
) -> dict[str, JsonValue]:
    """Parse the JSON object in a file; NaN and the infinities become None, a BOM is skipped.

    Raises MalformedRepo with `reason` "crowded", "not_utf8", "not_json", "not_an_object" or
    "too_deep".
    """
    value = load_json(data, repo_id, path)
    if not isinstance(value, dict):
        raise MalformedRepo(repo_id=repo_id, file=path, reason="not_an_object")
    if max_depth is not None and deeper_than(value, max_depth):
        raise MalformedRepo(repo_id=repo_id, file=path, reason="too_deep")
    return value


def load_json(
    data: bytes, repo_id: str, path: str, object_pairs: Callable[[Pairs], JsonValue] | None = None
) -> JsonValue:
    """Parse any JSON value. Raises MalformedRepo as `parse_object` does, or "duplicate_key"."""

    def refused(reason: str) -> MalformedRepo:
        return MalformedRepo(repo_id=repo_id, file=path, reason=reason)

    # Values that would take too much memory are refused before any of them is created. The estimate
    # of `values_bytes` is 44 times the length of a text of brackets alone, and 10 to 14 times that
    # of safetensors headers, the densest real files.
    if values_bytes(data) > most_values_bytes(len(data)):
        raise refused("crowded")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refused("not_utf8") from None
    try:
        value: JsonValue = json.loads(
            text, parse_constant=lambda name: None, object_pairs_hook=object_pairs
        )
        return value
    except DuplicateKey:
        raise refused("duplicate_key") from None
    except RecursionError:
        raise refused("too_deep") from None
    except ValueError:
        raise refused("not_json") from None


def values_bytes(data: bytes) -> int:
    """Return an upper bound of the bytes of a JSON text's Python values, without the text."""
    # A list takes 56 bytes and space for four items, a dictionary 64 and up to 120 for a member, a
    # string 49 plus its characters, a number up to 32 and its place in a list (CPython 3.11,
    # sys.getsizeof). Brackets and quotes inside strings are counted as well.
    containers = data.count(b"[") + data.count(b"{")
    return (
        88 * containers
        + 60 * data.count(b":")
        + 40 * data.count(b",")
        + 28 * data.count(b'"')
        + len(data)
    )


def most_values_bytes(text_bytes: int) -> int:
    """Return the most memory in bytes for the values of a JSON text of `text_bytes`."""
    return min(JSON_MEMORY_BYTES, _SPARE_BYTES + _MEMORY_PER_BYTE * text_bytes)


def unique_keys(pairs: Pairs) -> dict[str, JsonValue]:
    """Build an object from its members. Raises DuplicateKey."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise DuplicateKey
    return value


def deeper_than(value: JsonValue, max_depth: int) -> bool:
    """Whether objects and lists are nested in more than `max_depth` levels."""
    level = [value]
    for _ in range(max_depth):
        inner: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        if not inner:
            return False
        level = inner
    return any(isinstance(item, (dict, list)) for item in level)
