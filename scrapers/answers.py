"""HttpAnswer: an answer whose body is still arriving."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any

_GZIP = zlib.MAX_WBITS | 16
_FRUITLESS = 1000  # pieces of gzip in a row that hold no byte: nobody sends so


class Headers(Mapping[str, str]):
    """Headers by name, in any case of letters; of several of one name the first."""

    def __init__(self, headers: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, str] = {}
        for name, value in headers:
            self._values.setdefault(name.lower(), value)

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class HttpAnswer:
    """Status, headers, and the body piece by piece, decompressed where it came as gzip.

    `done` is told whether the body was read to its end: only then may the connection be used
    again. It is told so once, by `close`.
    """

    def __init__(self, response: HTTPResponse, done: Callable[[bool], None]) -> None:
        self.status = response.status
        self.headers = Headers(response.headers.items())
        self._response = response
        self._done = done
        self._ended = False
        self._pending = b""
        zipped = self.headers.get("Content-Encoding", "").strip().lower() in ("gzip", "x-gzip")
        self._decoder: Any = zlib.decompressobj(_GZIP) if zipped else None
        self._inside = False  # of a compressed stream that has begun and not ended

    def read1(self, size: int) -> bytes:
        """What has arrived, `size` bytes at most; empty at the end alone.

        Raises IncompleteRead for a body that ends early, HTTPException for gzip that is broken
        or holds nothing.
        """
        if self._decoder is None:
            return self._arrived(size)
        for _ in range(_FRUITLESS):
            data = self._pending or self._arrived(size)
            try:
                piece: bytes = self._decoder.decompress(data, size)
            except zlib.error as error:
                raise HTTPException("broken gzip") from error
            self._inside = (self._inside or bool(data)) and not self._decoder.eof
            self._pending = self._decoder.unconsumed_tail
            if self._decoder.eof:
                self._pending = self._decoder.unused_data
                self._decoder = zlib.decompressobj(_GZIP)
            if piece or not data:
                if not piece and self._inside:
                    raise IncompleteRead(b"")
                return piece
        raise HTTPException("gzip of nothing")

    def close(self) -> None:
        """Hand the connection back, or close it with the rest of the body unread."""
        whole = self._ended and not self._response.will_close
        self._response.close()
        self._done(whole)

    def _arrived(self, size: int) -> bytes:
        """The body as it was sent. Its end is looked for, as an empty read may be a loss."""
        if self._ended:
            return b""
        piece = self._response.read1(size)
        if not piece:
            if self._response.length:
                raise IncompleteRead(b"", self._response.length)
            self._ended = True
        return piece
