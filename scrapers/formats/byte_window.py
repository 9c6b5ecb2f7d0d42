"""ByteWindow reads the start of a large file as far as a parser needs it, and no further."""

from __future__ import annotations

import struct
from typing import Protocol

from gpusizer.core.errors import HubUnreachable, LimitsExceeded, MalformedRepo
from gpusizer.core.units import MIB
from scrapers.limits import Limits

_LENGTH = struct.Struct("<Q")
_STEP_BYTES = 3 * MIB


class Source(Protocol):
    """Reads bytes `start` to `stop` - 1 of a file, or fewer at its end."""

    # Returns the bytes and the file's size, None if unknown.
    def __call__(self, start: int, stop: int) -> tuple[bytes, int | None]: ...


class ByteWindow:
    """A position in a file that only moves forward.

    Raises MalformedRepo ("truncated") if the file ends too early, HubUnreachable ("truncated") if a
    response body ends too early, and LimitsExceeded ("gguf_header_bytes").
    """

    # Bytes are read in growing ranges, each at most once, and dropped once passed. Skipped bytes
    # are not read, except those in a range that also holds needed ones.
    def __init__(self, source: Source, limits: Limits, repo_id: str, path: str) -> None:
        self.position = 0
        self.file_bytes: int | None = None
        self.bytes_read = 0
        self._source = source
        self._limits = limits
        self._repo_id = repo_id
        self._path = path
        self._data = b""
        self._start = 0  # offset of the first byte of the data
        self._expected = limits.gguf_first_bytes

    def expect(self, stop: int) -> None:
        """Let the next range end at `stop`, the probable end of the header."""
        self._expected = max(self._expected, stop)

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        at = self._ensure(count)
        self.position += count
        return self._data[at : at + count]

    def skip(self, count: int) -> None:
        """Move forward by `count` bytes without reading them."""
        self.position += count
        self._check_end(0)

    def skip_strings(self, count: int) -> None:
        """Move past `count` strings, each preceded by its length; only the lengths are parsed."""
        length_of, length_bytes = _LENGTH.unpack_from, _LENGTH.size
        self._check_end(count * length_bytes)
        while count:
            at, data = self._ensure(length_bytes), self._data
            remaining = count
            try:
                for remaining in range(count, 0, -1):  # noqa: B007 - strings that remain
                    at += length_bytes + length_of(data, at)[0]
                remaining = 0
            except (struct.error, OverflowError):
                pass  # the next length is beyond the bytes that were read
            count = remaining
            self.position = self._start + at
            self._check_end(0)

    def malformed(self, reason: str) -> MalformedRepo:
        """Return the error of a file that contradicts its format."""
        return MalformedRepo(repo_id=self._repo_id, file=self._path, reason=reason)

    def _ensure(self, count: int) -> int:
        # Returns the offset of the next `count` bytes in the data.
        self._check_end(count)
        if self.position + count > self._start + len(self._data):
            self._read(count)
            self._check_end(count)
            if self.position + count > self._start + len(self._data):
                if self.file_bytes is None:
                    raise self.malformed("truncated")
                raise HubUnreachable(repo_id=self._repo_id, reason="truncated")
        return self.position - self._start

    def _read(self, count: int) -> None:
        self._data = self._data[max(self.position - self._start, 0) :]
        self._start = self.position
        start = self.position + len(self._data)
        # Long enough for the bytes that are probably needed soon.
        stop = max(self.position + count, self._expected)
        if stop == self.position + count:
            stop = max(stop, start + _STEP_BYTES)
        if self.file_bytes is not None:
            stop = min(stop, self.file_bytes)
        allowed = self._limits.gguf_header_bytes
        if self.position + count - start + self.bytes_read > allowed:
            raise LimitsExceeded(repo_id=self._repo_id, limit="gguf_header_bytes", allowed=allowed)
        piece, total = self._source(start, min(stop, start + allowed - self.bytes_read))
        self.bytes_read += len(piece)
        self._data += piece
        if self.file_bytes is None:
            self.file_bytes = total

    def _check_end(self, count: int) -> None:
        # Refuses a length beyond the end of the file before reading for it.
        end = 2**62 if self.file_bytes is None else self.file_bytes
        if self.position + count > end:
            raise self.malformed("truncated")
