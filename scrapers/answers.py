"""HttpAnswer: an answer whose body is still arriving. HTTP itself is read by llhttp (httptools)."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_RECEIVED_BYTES = 2**16
_MAX_HEAD_BYTES = 2**16  # the Hub's take two kilobytes
_GZIP = zlib.MAX_WBITS | 16
_FRUITLESS = 1000  # pieces of gzip in a row that hold no byte: nobody sends so

Receive = Callable[[int, float], bytes]
"""What has arrived, so many bytes at most; empty at the end. Raises OSError after a moment."""


class BrokenAnswer(Exception):
    """An answer that is not HTTP, or is none at all."""


class CutAnswer(BrokenAnswer):
    """An answer that ends before it should."""


class Headers(Mapping[str, str]):
    """Headers by name, in any case of letters; of several of one name the first."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def add(self, name: bytes, value: bytes) -> None:
        """Keep a header, unless there is one of its name."""
        self._values.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class HttpAnswer:
    """Status, headers, and the body piece by piece, decompressed where it came as gzip.

    Made once the head has arrived. Every call may take `silent_seconds`, however slowly bytes
    drip. `done` is told whether the body was read to its end: only then may the connection be
    used again. It is told so once, by `close`.

    Raises BrokenAnswer, CutAnswer or OSError, as reading does.
    """

    def __init__(
        self, receive: Receive, silent_seconds: float, done: Callable[[bool], None]
    ) -> None:
        self._receive = receive
        self._silent_seconds = silent_seconds
        self._done = done
        self._message = _Message()
        self._pending = b""
        self._read_head()
        zipped = self.headers.get("Content-Encoding", "").strip().lower() in ("gzip", "x-gzip")
        self._decoder: Any = zlib.decompressobj(_GZIP) if zipped else None
        self._inside = False  # of a compressed stream that has begun and not ended

    def read1(self, size: int) -> bytes:
        """What has arrived, `size` bytes at most; empty at the end alone.

        Raises CutAnswer for a body that ends early, BrokenAnswer for gzip that is broken or
        holds nothing.
        """
        until = self._until()
        if self._decoder is None:
            return self._arrived(size, until)
        for _ in range(_FRUITLESS):
            data = self._pending or self._arrived(size, until)
            try:
                piece: bytes = self._decoder.decompress(data, size)
            except zlib.error as error:
                raise BrokenAnswer("broken gzip") from error
            self._inside = (self._inside or bool(data)) and not self._decoder.eof
            self._pending = self._decoder.unconsumed_tail
            if self._decoder.eof:
                self._pending = self._decoder.unused_data
                self._decoder = zlib.decompressobj(_GZIP)
            if piece or not data:
                if not piece and self._inside:
                    raise CutAnswer("gzip ends early")
                return piece
        raise BrokenAnswer("gzip of nothing")

    def close(self) -> None:
        """Hand the connection back, or close it with the rest of the body unread."""
        self._message.parser = None  # the two hold one another
        self._done(self._message.whole and not self._message.body)

    def _read_head(self) -> None:
        until, received = self._until(), 0
        while not self._message.begun:
            received += self._feed(until)
            if received > _MAX_HEAD_BYTES and not self._message.begun:
                raise BrokenAnswer("endless head")
        self.status = self._message.status
        self.headers = self._message.headers

    def _arrived(self, size: int, until: float) -> bytes:
        """The body as it was sent. Its end is looked for, as an empty read may be a loss."""
        message = self._message
        while not (message.body or message.ended):
            self._feed(until)
        piece, message.body = message.body[:size], message.body[size:]
        return piece

    def _until(self) -> float:
        return time.monotonic() + self._silent_seconds

    def _feed(self, until: float) -> int:
        """Read on; how many bytes came."""
        message = self._message
        data = self._receive(_RECEIVED_BYTES, until)
        if not data:
            if not message.begun:
                raise BrokenAnswer("no answer")
            if not message.ends_with_connection:
                raise CutAnswer("the connection was closed")
            message.ended = True
            return 0
        message.feed(data)
        return len(data)


class _Message:
    """What the parser tells, callback by callback. Interim answers (100 to 199) are passed over."""

    def __init__(self) -> None:
        self.status = 0
        self.headers = Headers()
        self.body = b""
        self.begun = False  # the head has arrived
        self.ended = False
        self.whole = False  # it has ended, and left the connection as it was
        self.parser: HttpResponseParser | None = HttpResponseParser(self)
        self._pieces: list[bytes] = []

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing else says where the body ends."""
        return not self.headers.keys() & {"content-length", "transfer-encoding"}

    def feed(self, data: bytes) -> None:
        """Put what comes of the body behind what is left of it. Raises BrokenAnswer."""
        assert self.parser is not None
        try:
            self.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self.ended:
                raise BrokenAnswer("not HTTP") from error
            self.whole = False  # of what follows an answer nothing is wanted
        if self._pieces:
            self.body = b"".join([self.body, *self._pieces])
            self._pieces.clear()

    def on_message_begin(self) -> None:
        self.whole = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.begun:
            self.headers.add(name, value)

    def on_headers_complete(self) -> None:
        assert self.parser is not None
        status = self.parser.get_status_code()
        if self.begun:
            return
        if status < 200:
            self.headers.clear()
            return
        self.status, self.begun = status, True

    def on_body(self, piece: bytes) -> None:
        if not self.ended:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        assert self.parser is not None
        if self.begun and not self.ended:
            self.ended, self.whole = True, self.parser.should_keep_alive()
