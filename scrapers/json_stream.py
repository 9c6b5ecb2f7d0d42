"""JsonStream: a long JSON text that is never in memory as objects, but one member at a time."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from gpusizer.core.errors import MalformedRepo
from scrapers.json_files import DuplicateKey, Pairs, no_number, refuse_crowded

_SPACE = re.compile(rb"[ \t\n\r]*+")
# Every repetition is possessive and bounded: the pattern of a stranger's text takes no memory.
_TEXT = rb'"[^"\\]{0,4096}+(?:\\.[^"\\]{0,4096}+){0,256}+"'
_KEY = re.compile(rb"(" + _TEXT + rb")[ \t\n\r]*+:[ \t\n\r]*+", re.DOTALL)
_TEXT_MEMBER = re.compile(
    rb"[ \t\n\r]*+" + _TEXT + rb"[ \t\n\r]*+:[ \t\n\r]*+(" + _TEXT + rb")[ \t\n\r]*+([,}])",
    re.DOTALL,
)
_FIRST_BYTES = 2**12
MOST_MEMBERS = 2500
"""Of an object that is walked member by member: the shards of a model, and some more."""


class JsonStream:
    """A position in a JSON text that moves from value to value.

    What is not asked for is passed over. Raises MalformedRepo with `reason` "not_utf8",
    "not_json", "too_deep", "duplicate_key", or "crowded" for a value that is longer than
    `value_bytes` or that `refuse_crowded` refuses, and for more than MOST_MEMBERS of an object.
    """

    def __init__(
        self,
        data: bytes,
        repo_id: str,
        path: str,
        value_bytes: int,
        object_pairs: Callable[[Pairs], Any] | None = None,
    ) -> None:
        self._data = data
        self._at = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        self._repo_id = repo_id
        self._path = path
        self._value_bytes = value_bytes
        self._expected_bytes = _FIRST_BYTES
        self._decoder = json.JSONDecoder(parse_constant=no_number, object_pairs_hook=object_pairs)
        self._pass_space()

    def is_object(self) -> bool:
        """Whether an object begins here."""
        return self._next() == b"{"

    def members(self) -> Iterator[str]:
        """Enter the object that begins here: its keys, each when the stream is at its value."""
        seen: set[str] = set()
        self._step(b"{")
        if self._next() == b"}":
            self._step(b"}")
            return
        while True:
            key = _KEY.match(self._data, self._at)
            if key is None:
                raise self.malformed("not_json")
            name = self._text(key[1])
            if name in seen:
                raise self.malformed("duplicate_key")
            seen.add(name)
            if len(seen) > MOST_MEMBERS:
                raise self.malformed("crowded")
            self._at = start = key.end()
            yield name
            if self._at == start:
                self.value()
            if self._step(b",}") == b"}":
                return

    def texts(self) -> Iterator[bytes]:
        """Enter the object that begins here: its values, all texts, as they are written."""
        self._step(b"{")
        if self._next() == b"}":
            self._step(b"}")
            return
        match, scan = None, _TEXT_MEMBER.match
        while match is None or match[2] == b",":
            match = scan(self._data, self._at)
            if match is None:
                raise self.malformed("not_json")
            self._at = match.end()
            yield match[1]
        self._pass_space()

    def value(self) -> Any:
        """The value that begins here."""
        most = min(self._value_bytes, len(self._data) - self._at)
        count = min(self._expected_bytes, most)
        while True:
            text, end = self._piece(count)
            try:
                value, length = self._decoder.raw_decode(text)
            except DuplicateKey:
                raise self.malformed("duplicate_key") from None
            except RecursionError:
                raise self.malformed("too_deep") from None
            except ValueError:
                length = len(text)
                if count == most:
                    too_long = most < len(self._data) - self._at
                    raise self.malformed("crowded" if too_long else "not_json") from None
            # A number may go on behind the piece.
            if length < len(text) or self._at + end == len(self._data):
                break
            if count == most:
                raise self.malformed("crowded")
            count = min(8 * count, most)
        used = length if text.isascii() else len(text[:length].encode())
        self._expected_bytes = max(used + used // 2, _FIRST_BYTES)
        self._at += used
        self._pass_space()
        return value

    def end(self) -> None:
        """Refuse a text that goes on."""
        if self._at != len(self._data):
            raise self.malformed("not_json")

    def malformed(self, reason: str) -> MalformedRepo:
        """The error of a text that is not what it should be."""
        return MalformedRepo(repo_id=self._repo_id, file=self._path, reason=reason)

    def _piece(self, count: int) -> tuple[str, int]:
        """The text of the next bytes, and how many they are: a character is not cut."""
        piece = self._data[self._at : self._at + count]
        refuse_crowded(piece, self._repo_id, self._path)
        try:
            return codecs.utf_8_decode(piece, "strict", self._at + count == len(self._data))
        except UnicodeDecodeError:
            raise self.malformed("not_utf8") from None

    def _text(self, written: bytes) -> str:
        try:
            text: str = json.loads(written)
        except UnicodeDecodeError:
            raise self.malformed("not_utf8") from None
        except ValueError:
            raise self.malformed("not_json") from None
        return text

    def _next(self) -> bytes:
        return self._data[self._at : self._at + 1]

    def _step(self, marks: bytes) -> bytes:
        """Pass one of these marks and the space behind it."""
        mark = self._next()
        if not mark or mark not in marks:
            raise self.malformed("not_json")
        self._at += 1
        self._pass_space()
        return mark

    def _pass_space(self) -> None:
        space = _SPACE.match(self._data, self._at)
        if space is not None:
            self._at = space.end()
