"""Walks a long JSON object member by member, so that the values of one member are in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpusizer.core.errors import MalformedRepo
from scrapers.formats.json_files import load_json

_SPACE = rb"[ \t\n\r]*+"
# Every repetition is possessive, so that matching an untrusted text never backtracks.
_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
_FLAT_OBJECT = rb'\{(?:[^{}"]++|' + _TEXT + rb")*+\}"
_START = re.compile(rb"(?:\xef\xbb\xbf)?+" + _SPACE + rb"\{" + _SPACE + rb"(\}?+)" + _SPACE)
_KEY = re.compile(_SPACE + rb"(" + _TEXT + rb")" + _SPACE + rb":" + _SPACE, re.DOTALL)
_PART = re.compile(
    rb'[^"{}\[\]]*+(?:' + _TEXT + rb"|" + _FLAT_OBJECT + rb"|([\[{])|([\]}]))", re.DOTALL
)
_SCALAR = re.compile(rb"(?:" + _TEXT + rb'|[^"{}\[\], \t\n\r]++)', re.DOTALL)
_AFTER = re.compile(_SPACE + rb"([,}])" + _SPACE)
_QUOTE = ord('"')
MAX_MEMBERS = 2500
"""Most members of an object that is read member by member: more than the shards of any model."""
_MAX_PARTS = 1_000_000
"""Most texts, brackets and objects without further ones in a value: two for each tensor."""


def members(text: memoryview, repo_id: str, path: str) -> Iterator[tuple[str, memoryview]]:
    """Yield the key and the JSON text of every member of an object.

    Only the brackets of a value are matched: `load_json` tells whether it is valid. Raises
    MalformedRepo ("not_an_object", "not_json", "not_utf8", "duplicate_key", or "crowded" for more
    than MAX_MEMBERS).
    """
    keys: set[str] = set()
    try:
        for key, value in _members(text):
            name = str(load_json(key, repo_id, path))
            if name in keys:
                raise ValueError("duplicate_key")
            keys.add(name)
            if len(keys) > MAX_MEMBERS:
                raise ValueError("crowded")
            yield name, value
    except ValueError as error:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=str(error)) from None


def text_values(text: memoryview) -> Iterator[bytes]:
    """Yield the values of an object, as JSON. Raises ValueError unless all are texts."""
    for _, value in _members(text):
        if value[0] != _QUOTE:
            raise ValueError("not_text")
        yield bytes(value)


def _members(text: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield keys and values as JSON texts. Raises ValueError with the reason of a MalformedRepo."""
    start = _START.match(text)
    if start is None:
        raise ValueError("not_an_object")
    at, is_last = start.end(), bool(start[1])
    while not is_last:
        key = _KEY.match(text, at)
        if key is None:
            raise ValueError("not_json")
        end = _value_end(text, key.end())
        after = _AFTER.match(text, end)
        if after is None:
            raise ValueError("not_json")
        yield key[1], text[key.end() : end]
        at, is_last = after.end(), after[1] == b"}"
    if at != len(text):
        raise ValueError("not_json")


def _value_end(text: memoryview, at: int) -> int:
    """Return the offset behind the value that begins at `at`. Raises ValueError."""
    scalar = _SCALAR.match(text, at)
    if scalar is not None:
        return scalar.end()
    depth = 0
    for _ in range(_MAX_PARTS):
        part = _PART.match(text, at)
        if part is None:
            raise ValueError("not_json")
        at = part.end()
        depth += bool(part[1]) - bool(part[2])
        if depth <= 0:
            return at
    raise ValueError("crowded")
