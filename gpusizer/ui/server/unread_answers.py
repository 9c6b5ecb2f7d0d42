"""UnreadAnswers: limits on messages that wait for readers, in a Mailbox for each session."""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradio.server_messages import EventMessage, ProcessCompletedMessage, ProcessGeneratingMessage

# time after which a session without a reader is dropped; pages and clients read while they wait
UNREAD_SECONDS = 60.0

# memory of all unread messages: 100 answers of a page, 350 of an endpoint, compressed
_MAX_BYTES = 8_000_000
_MOST_SESSIONS = 1_024  # sessions with or without messages; one takes about 2 kB without messages
_SWEEP_SECONDS = 5.0

# Compression of a message: 2 ms for 300 kB of JSON, to an eighth. As Python's objects it takes
# three times its JSON.
_LEVEL = 1
_MESSAGE_BYTES = 1_000  # memory of a message without its compressed output


class Mailbox(asyncio.Queue[Any]):
    """Messages of a session in order of arrival, compressed unless a reader waits.

    `forget` drops the session. Used by one event loop.
    """

    def __init__(self, unread: UnreadAnswers, forget: Callable[[], None]) -> None:
        super().__init__()
        self.forget = forget
        self.size_bytes = 0
        self.answers = 0
        self._unread = unread
        self._readers = 0

    @property
    def is_read(self) -> bool:
        """Whether a reader waits for the next message."""
        return self._readers > 0

    async def get(self) -> EventMessage:
        """Wait for the next message and return it."""
        self._unread.read(self)
        self._readers += 1
        try:
            message: EventMessage = await super().get()
        finally:
            self._readers -= 1
        self._unread.read(self)
        return message

    # asyncio.Queue names these two for subclasses, as its own PriorityQueue is one.
    def _put(self, item: EventMessage) -> None:
        if self.empty():
            self._unread.read(self)
        entry = _Entry(item, is_packed=self.qsize() >= self._readers)
        super()._put(entry)
        self.answers += isinstance(item, ProcessCompletedMessage)
        self._unread.weigh(self, entry.size_bytes)

    def _get(self) -> EventMessage:
        entry: _Entry = super()._get()
        message = entry.message()
        self.answers -= isinstance(message, ProcessCompletedMessage)
        self._unread.weigh(self, -entry.size_bytes)
        return message


class _Entry:
    """A message, whose output is compressed unless a reader already waits."""

    def __init__(self, message: EventMessage, *, is_packed: bool) -> None:
        self._message = message
        self._output: bytes | None = None
        if is_packed and isinstance(message, ProcessCompletedMessage | ProcessGeneratingMessage):
            # As Gradio writes it; a lone surrogate of a caller's text, too, which others refuse.
            text = json.dumps(message.model_dump()["output"], default=str)
            self._output = zlib.compress(text.encode(), _LEVEL)
            self._message = message.model_copy(update={"output": {}})
        self.size_bytes = _MESSAGE_BYTES + len(self._output or b"")

    def message(self) -> EventMessage:
        """Return the original message."""
        if self._output is None:
            return self._message
        output = json.loads(zlib.decompress(self._output))
        return self._message.model_copy(update={"output": output})


class UnreadAnswers:
    """Keeps the mailboxes of all queues of a process within limits of bytes, number and time.

    The mailbox with the oldest read is dropped first, and none with a waiting reader. Used by one
    event loop.
    """

    def __init__(
        self,
        max_bytes: int = _MAX_BYTES,
        most_sessions: int = _MOST_SESSIONS,
        seconds: float = UNREAD_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes = max_bytes
        self._most_sessions = most_sessions
        self._seconds = seconds
        self._clock = clock
        self._read_at: OrderedDict[Mailbox, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self.size_bytes = 0

    @property
    def sessions(self) -> int:
        """Number of mailboxes."""
        return len(self._read_at)

    def open(self, forget: Callable[[], None]) -> Mailbox:
        """Return a new mailbox, which is kept until it is closed; `forget` closes it."""
        mailbox = Mailbox(self, forget)
        if len(self._read_at) >= self._most_sessions:
            oldest = next(iter(self._read_at))
            next((box for box in self._read_at if not box.is_read), oldest).forget()
        self._read_at[mailbox] = self._clock()
        if self._timer is None:
            self._sweep_later()
        return mailbox

    def close(self, mailbox: Mailbox) -> None:
        """Drop a mailbox."""
        if self._read_at.pop(mailbox, None) is not None:
            self.size_bytes -= mailbox.size_bytes

    def read(self, mailbox: Mailbox) -> None:
        """Record that a mailbox has a reader, or has nothing to read."""
        if mailbox in self._read_at:
            self._read_at[mailbox] = self._clock()
            self._read_at.move_to_end(mailbox)

    def weigh(self, mailbox: Mailbox, size_bytes: int) -> None:
        """Record bytes that were added to a mailbox, or read if negative."""
        mailbox.size_bytes += size_bytes
        if mailbox not in self._read_at:
            return
        self.size_bytes += size_bytes
        while self.size_bytes > self._max_bytes:
            next(box for box in self._read_at if box.size_bytes).forget()

    def sweep(self) -> None:
        """Drop mailboxes that were unread for too long."""
        latest = self._clock() - self._seconds
        for mailbox in [box for box, read_at in self._read_at.items() if read_at <= latest]:
            mailbox.forget()

    def _sweep_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep_again)

    def _sweep_again(self) -> None:
        self.sweep()
        self._timer = None
        if self._read_at:
            self._sweep_later()
