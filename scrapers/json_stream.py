"""JsonStream: parses a long JSON text one member at a time, to bound the memory of its values."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from gpusizer.core.errors import MalformedRepo
from scrapers.json_files import DuplicateKey, Pairs, none_for_nan, refuse_crowded

_SPACE = re.compile(rb"[ \t\n\r]*+")
# Every repetition is possessive and bounded, so that matching an untrusted text never backtracks.
_TEXT = rb'"[^"\\]{0,4096}+(?:\\.[^"\\]{0,4096}+){0,256}+"'
_KEY = re.compile(rb"(" + _TEXT + rb")[ \t\n\r]*+:[ \t\n\r]*+", re.DOTALL)
_TEXT_MEMBER = re.compile(
    rb"[ \t\n\r]*+" + _TEXT + rb"[ \t\n\r]*+:[ \t\n\r]*+(" + _TEXT + rb")[ \t\n\r]*+([,}])",
    re.DOTALL,
)
_FIRST_BYTES = 2**12
MAX_MEMBERS = 2500
"""Most members of an object that is read member by member: more than the shards of any model."""


class JsonStream:
    """A position in a JSON text that moves from value to value.

    Values that the caller does not read are skipped. Raises MalformedRepo with `reason`
    "not_utf8", "not_json", "too_deep" or "duplicate_key", and "crowded" for a value that is longer
    than `value_bytes` or that `refuse_crowded` refuses, or an object of more than MAX_MEMBERS.
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
        self._decoder = json.JSONDecoder(
            parse_constant=none_for_nan, object_pairs_hook=object_pairs
        )
        self._skip_space()

    def is_object(self) -> bool:
        """Whether an object begins here."""
        return self._next() == b"{"

    def members(self) -> Iterator[str]:
        """Enter the object that begins here; yield each key when the stream is at its value."""
        keys: set[str] = set()
        self._skip_one_of(b"{")
        if self._next() == b"}":
            self._skip_one_of(b"}")
            return
        while True:
            key = _KEY.match(self._data, self._at)
            if key is None:
                raise self.malformed("not_json")
            name = self._text(key[1])
            if name in keys:
                raise self.malformed("duplicate_key")
            keys.add(name)
            if len(keys) > MAX_MEMBERS:
                raise self.malformed("crowded")
            self._at = start = key.end()
            yield name
            if self._at == start:
                self.value()
            if self._skip_one_of(b",}") == b"}":
                return

    def texts(self) -> Iterator[bytes]:
        """Enter the object that begins here, whose values are all strings; yield them as JSON."""
        self._skip_one_of(b"{")
        if self._next() == b"}":
            self._skip_one_of(b"}")
            return
        match, scan = None, _TEXT_MEMBER.match
        while match is None or match[2] == b",":
            match = scan(self._data, self._at)
            if match is None:
                raise self.malformed("not_json")
            self._at = match.end()
            yield match[1]
        self._skip_space()

    def value(self) -> Any:
        """Parse the value that begins here."""
        max_bytes = min(self._value_bytes, len(self._data) - self._at)
        count = min(self._expected_bytes, max_bytes)
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
                if count == max_bytes:
                    too_long = max_bytes < len(self._data) - self._at
                    raise self.malformed("crowded" if too_long else "not_json") from None
            # A number may continue after the end of the piece.
            if length < len(text) or self._at + end == len(self._data):
                break
            if count == max_bytes:
                raise self.malformed("crowded")
            count = min(8 * count, max_bytes)
        used_bytes = length if text.isascii() else len(text[:length].encode())
        self._expected_bytes = max(used_bytes + used_bytes // 2, _FIRST_BYTES)
        self._at += used_bytes
        self._skip_space()
        return value

    def end(self) -> None:
        """Raise MalformedRepo ("not_json") if the text continues."""
        if self._at != len(self._data):
            raise self.malformed("not_json")

    def malformed(self, reason: str) -> MalformedRepo:
        """Return the error of a malformed text."""
        return MalformedRepo(repo_id=self._repo_id, file=self._path, reason=reason)

    def _piece(self, count: int) -> tuple[str, int]:
        """Decode the next bytes up to a whole character; return the text and its bytes' number."""
        piece = self._data[self._at : self._at + count]
        refuse_crowded(piece, self._repo_id, self._path)
        try:
            return codecs.utf_8_decode(piece, "strict", self._at + count == len(self._data))
        except UnicodeDecodeError:
            raise self.malformed("not_utf8") from None

    def _text(self, json_text: bytes) -> str:
        try:
            text: str = json.loads(json_text)
        except UnicodeDecodeError:
            raise self.malformed("not_utf8") from None
        except ValueError:
            raise self.malformed("not_json") from None
        return text

    def _next(self) -> bytes:
        return self._data[self._at : self._at + 1]

    def _skip_one_of(self, characters: bytes) -> bytes:
        """Move past one of these characters and the white space after it."""
        character = self._next()
        if not character or character not in characters:
            raise self.malformed("not_json")
        self._at += 1
        self._skip_space()
        return character

    def _skip_space(self) -> None:
        space = _SPACE.match(self._data, self._at)
        if space is not None:
            self._at = space.end()
