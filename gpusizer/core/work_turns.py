"""WorkTurns: threads that compute take turns; those that wait for the Hub leave their turn.

Python computes in one thread at a time, so that more threads than processors make every answer
slower and none faster. A thread that waits for the Hub computes nothing and may take half a minute.
So both are counted apart: readings of slow repositories neither hold up an answer that needs none,
nor are held up by long answers. A model that many wait for is read, and counted as such, once.

Turns go to the visitor who has used the least processor time within the last minute, and a long
answer leaves its turn to such a visitor on the way: twenty heavy questions of one visitor make
no other visitor wait for one of them.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto

from gpusizer.core.errors import ServerBusy
from gpusizer.core.fair_line import FairLine, Ticket
from gpusizer.core.spent_seconds import SpentSeconds

VISITOR: ContextVar[str | None] = ContextVar("visitor", default=None)
"""For whom this thread works: a key that is the same for all questions of one visitor; None where
visitors are not told apart."""
OF_ONE_VISITOR = 2
"""Answers of one visitor that are worked on at the same time: a short one passes a long one."""
READING = 24
"""Models that may be read at the same time: each may take the memory of `scrapers/limits.py`."""
WAITING = 28
"""Threads that may wait for the Hub, those that read and those that wait for what another one is
reading: fewer than the places of questions (`gpusizer/ui/server/work_pool.py`)."""
_RETRY_AFTER_SECONDS = 5
"""A model is usually read within a second or two, and within 30 seconds or not at all."""
_PATIENCE_SECONDS = 3.0
"""How long a thread waits for a place while none is taken or given back. While the Hub answers, one
is given back every moment; while it hangs, threads that wait would hold up questions that need no
Hub."""
_SLICE_SECONDS = 0.1
"""How long a turn is kept at least, and how much less another visitor has used who gets it: about
an ordinary answer, so that turns change no more often than answers."""


class _State(Enum):
    """The work of a thread. It is outside where it has no turn to leave: the threads of the shell,
    and those that a reading itself has begun."""

    OUTSIDE = auto()
    COMPUTING = auto()
    LOOKING_UP = auto()
    WAITING = auto()


@dataclass(slots=True)
class _Turn:
    """What one thread holds: its ticket, until when it is kept, and up to where its processor time
    has been added to its visitor's."""

    ticket: Ticket
    kept_until: float
    counted_until: float


class WorkTurns:
    """Bounds of the threads that compute, of those that wait for the Hub, and of those among them
    that read. Safe to share between threads.

    `clock` gives the time, `processor` the processor time of the calling thread, in seconds.
    """

    def __init__(
        self,
        computing: int,
        reading: int,
        waiting: int = WAITING,
        patience_seconds: float = _PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._processor = processor
        self._lock = threading.Lock()
        self._spent = SpentSeconds(clock)
        self._line = FairLine(computing, OF_ONE_VISITOR, self._spent.of)
        self._reading = _Places(reading, patience_seconds)
        self._waiting = _Places(waiting, patience_seconds)
        self._thread = threading.local()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Hold one of the turns to compute; a thread that has one keeps it."""
        if self._state is _State.COMPUTING:
            yield
            return
        self._take(VISITOR.get(), self._processor())
        try:
            with self._being(_State.COMPUTING):
                yield
        finally:
            self._give_back()

    @contextmanager
    def looking_up(self) -> Iterator[None]:
        """Leave this thread's turn to compute, if it has one, to others until the end.

        For what takes a moment, as a look into a cache does: it is not counted.
        """
        if self._state is not _State.COMPUTING:
            yield
            return
        turn = self._give_back()
        try:
            with self._being(_State.LOOKING_UP):
                yield
        finally:
            # What is read is parsed by this thread: that counts as well.
            self._take(turn.ticket.visitor, turn.counted_until)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Leave the turn, and wait for what another thread reads.

        Raises ServerBusy where as many threads wait already as may, and none of them goes on.
        """
        if self._state in (_State.OUTSIDE, _State.WAITING):
            yield
            return
        with self.looking_up(), self._waiting.held(), self._being(_State.WAITING):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Leave the turn, and read once there is a place for it.

        Raises ServerBusy where as many wait or read already as may, and none of them goes on.
        """
        if self._state in (_State.OUTSIDE, _State.WAITING):
            yield
            return
        with self.looking_up(), self._reading.held(), self.waiting():
            yield

    def give_way(self) -> None:
        """Let a visitor compute first who waits and has used less; loops of an answer call this."""
        turn: _Turn | None = getattr(self._thread, "turn", None)
        if turn is None or self._clock() < turn.kept_until:
            return
        visitor = turn.ticket.visitor
        with self._lock:
            self._count(turn)
            turn.kept_until = self._clock() + _SLICE_SECONDS
            if visitor is None:
                return
            used = self._spent.of(visitor)
            if not self._line.has_lighter(visitor, used - _SLICE_SECONDS):
                return
        self._give_back()
        self._take(visitor, turn.counted_until, turn.ticket.number)

    def spent(self, visitor: str) -> float:
        """Return the processor seconds that a visitor has used within the last minute."""
        with self._lock:
            return self._spent.of(visitor)

    def seconds_to_wait(self, visitor: str, most: float) -> float | None:
        """Return how long it takes until a visitor has used less than `most` processor seconds
        within a minute, None if that is so now."""
        with self._lock:
            return self._spent.seconds_to_wait(visitor, most)

    @property
    def _state(self) -> _State:
        return getattr(self._thread, "state", _State.OUTSIDE)

    @contextmanager
    def _being(self, state: _State) -> Iterator[None]:
        before = self._state
        self._thread.state = state
        try:
            yield
        finally:
            self._thread.state = before

    def _take(self, visitor: str | None, counted_until: float, number: int | None = None) -> None:
        """Wait for a turn. Processor time of this thread since `counted_until` is the visitor's."""
        admitted = threading.Event()
        with self._lock:
            ticket = self._line.join(visitor, admitted.set, number)
        try:
            admitted.wait()
        except BaseException:  # the user of a shell interrupts
            with self._lock:
                self._line.leave(ticket)
            raise
        self._thread.turn = _Turn(ticket, self._clock() + _SLICE_SECONDS, counted_until)

    def _give_back(self) -> _Turn:
        """Leave this thread's turn to the next in the line, and return it."""
        turn: _Turn = self._thread.turn
        self._thread.turn = None
        with self._lock:
            self._count(turn)
            self._line.leave(turn.ticket)
        return turn

    def _count(self, turn: _Turn) -> None:
        """Add the processor time of this thread to its visitor's."""
        now = self._processor()
        if turn.ticket.visitor is not None:
            self._spent.add(turn.ticket.visitor, now - turn.counted_until)
        turn.counted_until = now


class _Places:
    """A number of places; a thread that finds none free waits while others change hands."""

    def __init__(self, count: int, patience_seconds: float) -> None:
        self._free = count
        self._patience_seconds = patience_seconds
        self._changed = threading.Condition()
        self._changed_at = -math.inf

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a place. Raises ServerBusy where none has changed hands for too long."""
        with self._changed:
            while not self._free:
                left = self._changed_at + self._patience_seconds - time.monotonic()
                if left <= 0:
                    raise ServerBusy(retry_after_seconds=_RETRY_AFTER_SECONDS)
                self._changed.wait(left)
            self._move(-1)
        try:
            yield
        finally:
            with self._changed:
                self._move(1)
                self._changed.notify()

    def _move(self, places: int) -> None:
        self._free += places
        self._changed_at = time.monotonic()


TURNS = WorkTurns(max(os.cpu_count() or 1, 2), READING)
"""Those of this process: pages and endpoints share its processors."""
