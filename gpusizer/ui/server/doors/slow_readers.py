"""SlowReaders: limit of the memory for connections that read answers slowly or not at all."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.ui.server.unread_answers import UNREAD_SECONDS

_MAX_BYTES = 8_000_000  # memory for unsent parts of all connections; past it the slowest is closed
_PIECE_BYTES = 32_768  # bytes handed on at a time; uvicorn 0.54 buffers 64 kB before it waits

# bytes that uvicorn holds for a connection that reads nothing
_CONNECTION_BYTES = 65_536 + _PIECE_BYTES

# Time for a connection to take a part of an answer before that is compressed; none if the part
# exceeds the limit.
_GRACE_SECONDS = 0.5
_LEVEL = 1


class SlowReaders:
    """ASGI middleware that buffers answers and sends them at the connection's pace.

    Without it Gradio's streams hold an answer, its text and its bytes while a connection reads
    nothing, and uvicorn the bytes of a plain answer. Used by one event loop.
    """

    def __init__(self, app: ASGIApp, max_bytes: int = _MAX_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._held: OrderedDict[_Outbox, int] = OrderedDict()
        self.size_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; return once its answer is sent or its connection is to be closed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        outbox = _Outbox(self, send)
        try:
            await self._app(scope, receive, outbox.send)
            await outbox.sent()
        except asyncio.CancelledError:
            if not outbox.is_dropped:
                raise
        finally:
            outbox.close()
            self.hold(outbox, 0)

    def has_room(self, size_bytes: int) -> bool:
        """Return whether `size_bytes` more may be held."""
        return self.size_bytes + size_bytes <= self._max_bytes

    def hold(self, outbox: _Outbox, size_bytes: int) -> None:
        """Record the bytes that an outbox holds now; the longest holders are dropped first."""
        self.size_bytes += size_bytes - self._held.get(outbox, 0)
        if size_bytes:
            self._held[outbox] = size_bytes
        else:
            self._held.pop(outbox, None)
        while self.size_bytes > self._max_bytes:
            slowest, held_bytes = self._held.popitem(last=False)
            self.size_bytes -= held_bytes
            slowest.drop()


class _Outbox:
    """Unsent parts of an answer for a connection, in order."""

    def __init__(self, readers: SlowReaders, send: Send) -> None:
        self.is_dropped = False
        self._readers = readers
        self._send = send
        self._request = asyncio.current_task()
        self._parts: deque[_Part] = deque()
        self._sending: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """Send a part; return once the connection has taken it, or it is compressed."""
        if not self._parts and len(message.get("body", b"")) <= _PIECE_BYTES:
            await self._send(message)
            return
        part = _Part(message)
        grace_seconds = _GRACE_SECONDS
        if not self._readers.has_room(part.size_bytes + _CONNECTION_BYTES):
            grace_seconds = 0.0
            part.pack()
        self._parts.append(part)
        self._weigh()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        done, _ = await asyncio.wait({self._sending}, timeout=grace_seconds)
        if done:
            await self._sending
        elif part in self._parts:
            part.pack()
            self._weigh()

    async def sent(self) -> None:
        """Wait until all parts are sent."""
        if self._sending is not None:
            await self._sending

    def drop(self) -> None:
        """End the request: its connection reads too little."""
        self.is_dropped = True
        if self._request is not None:
            self._request.cancel()

    def close(self) -> None:
        """Stop sending."""
        if self._sending is not None:
            self._sending.cancel()

    async def _send_all(self) -> None:
        while self._parts:
            part = self._parts[0]
            for message in part.pieces():
                await self._send(message)
            self._parts.popleft()
            self._weigh()

    def _weigh(self) -> None:
        parts = sum(part.size_bytes for part in self._parts)
        self._readers.hold(self, parts + _CONNECTION_BYTES if self._parts else 0)


class _Part:
    """A message of an application; its body is sent in pieces, and the rest can be compressed."""

    def __init__(self, message: Message) -> None:
        self._message = {**message, "body": b""}
        self._body = message.get("body", b"")
        self._sent_bytes = 0
        self._packed = b""
        self._unpacker: zlib._Decompress | None = None

    @property
    def size_bytes(self) -> int:
        """Memory of the rest in bytes."""
        return len(self._body) + len(self._packed)

    def pack(self) -> None:
        """Compress the rest."""
        if self._unpacker is None:
            self._packed = zlib.compress(self._body[self._sent_bytes :], _LEVEL)
            self._unpacker = zlib.decompressobj()
            self._body = b""

    def pieces(self) -> Iterator[Message]:
        """Yield the messages to send instead, each made on demand."""
        is_last = False
        while not is_last:
            piece, is_last = self._next()
            more = not is_last or self._message.get("more_body", False)
            yield {**self._message, "body": piece, "more_body": more}

    def _next(self) -> tuple[bytes, bool]:
        if self._unpacker is None:
            piece = self._body[self._sent_bytes : self._sent_bytes + _PIECE_BYTES]
            self._sent_bytes += len(piece)
            return piece, self._sent_bytes >= len(self._body)
        piece = self._unpacker.decompress(self._packed, _PIECE_BYTES)
        self._packed = self._unpacker.unconsumed_tail
        return piece, self._unpacker.eof


def close_unread(listeners: Iterable[socket.socket]) -> None:
    """Let the system close connections whose other end reads nothing for UNREAD_SECONDS.

    Only Linux can. A connection inherits the option from the listening socket (tcp(7)).
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    for listener in listeners:
        if option is not None:
            listener.setsockopt(socket.IPPROTO_TCP, option, round(UNREAD_SECONDS * 1000))
