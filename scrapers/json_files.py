"""JSON from strangers: parsed within bounds, or MalformedRepo."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gpusizer.errors import MalformedRepo

Pairs = list[tuple[str, Any]]


class DuplicateKey(ValueError):
    """An object names a key twice."""


def parse_object(
    data: bytes, repo_id: str, path: str, max_depth: int | None = None
) -> dict[str, Any]:
    """The JSON object in a file; NaN and the infinities become None, a BOM is skipped.

    Raises MalformedRepo with `reason` "not_utf8", "not_json", "not_an_object" or "too_deep".
    """
    value = load_json(data, repo_id, path)
    if not isinstance(value, dict):
        raise MalformedRepo(repo_id=repo_id, file=path, reason="not_an_object")
    if max_depth is not None and deeper_than(value, max_depth):
        raise MalformedRepo(repo_id=repo_id, file=path, reason="too_deep")
    return value


def load_json(
    data: bytes, repo_id: str, path: str, object_pairs: Callable[[Pairs], Any] | None = None
) -> Any:
    """Any JSON value. Raises MalformedRepo as `parse_object` does, or "duplicate_key"."""

    def refused(reason: str) -> MalformedRepo:
        return MalformedRepo(repo_id=repo_id, file=path, reason=reason)

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refused("not_utf8") from None
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=object_pairs)
    except DuplicateKey:
        raise refused("duplicate_key") from None
    except RecursionError:
        raise refused("too_deep") from None
    except ValueError:
        raise refused("not_json") from None


def refuse_crowded(data: bytes, repo_id: str, path: str) -> None:
    """Refuse what no tensor listing is: JSON that is mostly brackets or quotes.

    Python spends 64 bytes on the two of an empty list. An entry of a listing has at least
    50 characters for its 3 containers and 10 quotes. Raises MalformedRepo ("tensor_entry").
    """
    spare = 2 * 2**20
    containers = data.count(b"[") + data.count(b"{")
    if containers * 16 > len(data) + spare or data.count(b'"') * 4 > len(data) + spare:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="tensor_entry")


def unique_keys(pairs: Pairs) -> dict[str, Any]:
    """An object of these pairs. Raises DuplicateKey."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DuplicateKey
    return found


def _no_number(name: str) -> None:
    """NaN, Infinity and -Infinity say nothing that could be computed with."""


def deeper_than(value: Any, max_depth: int) -> bool:
    """Whether objects and lists nest deeper than that."""
    level = [value]
    for _ in range(max_depth):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        if not inner:
            return False
        level = inner
    return any(isinstance(item, (dict, list)) for item in level)
