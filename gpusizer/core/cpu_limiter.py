"""CpuLimiter: bounds of threads that compute and of threads that wait for the Hub."""

# Python computes in one thread at a time, so more threads than processors make every answer slower
# and none faster. A thread that waits for the Hub computes nothing and may take half a minute. Both
# are counted separately: slow repositories do not delay an answer that needs none, and long answers
# do not delay readings. A model that many wait for is read, and counted, once. Turns go to the
# visitor who has used the least processor time within the last minute, and a long answer leaves its
# turn to such a visitor on the way: twenty heavy questions of one visitor make no other visitor
# wait for one of them.

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

# Key of the visitor whose question this thread answers; None if visitors are not distinguished.
VISITOR: ContextVar[str | None] = ContextVar("visitor", default=None)
# answers of one visitor in progress at the same time: a short one passes a long one
OF_ONE_VISITOR = 2
# Models read at the same time: each may take the memory of `scrapers/limits.py`.
READING = 24
# Threads that may wait for the Hub, by reading or for another thread's reading: fewer than the
# places of questions (`gpusizer/ui/server/work_pool.py`).
WAITING = 28
# A model is usually read within a second or two, and within 30 seconds or not at all.
_RETRY_AFTER_SECONDS = 5
# A thread waits this long for a place if none changes hands. While the Hub answers, one does every
# moment; while it hangs, waiting threads would hold up questions that need no Hub.
_PATIENCE_SECONDS = 3.0
# Minimum time of a turn, and minimum lead of a visitor who takes it over: about an ordinary answer,
# so that turns change no more often than answers.
_SLICE_SECONDS = 0.1


class _State(Enum):
    """The work of a thread."""

    # without a turn to leave: threads of the shell, and those that a reading itself has started
    OUTSIDE = auto()
    COMPUTING = auto()
    LOOKING_UP = auto()
    WAITING = auto()


@dataclass(slots=True)
class _Turn:
    """A thread's ticket, its end, and the processor time up to which it is counted."""

    ticket: Ticket
    kept_until: float
    counted_until: float


class CpuLimiter:
    """Bounds of threads that compute, read or wait for the Hub. Safe to share between threads."""

    # `clock` returns the time, `processor` the processor time of the calling thread, in seconds
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
        self._line = FairLine(computing, OF_ONE_VISITOR, self._spent.by_visitor)
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
        """Leave this thread's turn to compute, if it has one, to others until the end."""
        # for short work, such as a look into a cache: it is not counted
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
        """Leave the turn, and wait for another thread. Raise ServerBusy if too many wait."""
        if self._state in (_State.OUTSIDE, _State.WAITING):
            yield
            return
        with self.looking_up(), self._waiting.held(), self._being(_State.WAITING):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Leave the turn, and read once there is a place. Raise ServerBusy if too many wait."""
        if self._state in (_State.OUTSIDE, _State.WAITING):
            yield
            return
        with self.looking_up(), self._reading.held(), self.waiting():
            yield

    def give_way(self) -> None:
        """Give the turn to a waiting visitor who has used less; loops of an answer call this."""
        turn: _Turn | None = getattr(self._thread, "turn", None)
        if turn is None or self._clock() < turn.kept_until:
            return
        visitor = turn.ticket.visitor
        with self._lock:
            self._count(turn)
            turn.kept_until = self._clock() + _SLICE_SECONDS
            if visitor is None:
                return
            used = self._spent.by_visitor(visitor)
            if not self._line.has_lighter(visitor, used - _SLICE_SECONDS):
                return
        self._give_back()
        self._take(visitor, turn.counted_until, turn.ticket.number)

    def spent(self, visitor: str) -> float:
        """Return the processor seconds that a visitor has used within the last minute."""
        with self._lock:
            return self._spent.by_visitor(visitor)

    def seconds_to_wait(self, visitor: str, most: float) -> float | None:
        """Return the seconds until a visitor has used less than `most`, or None if already."""
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
        # processor time of this thread since `counted_until` is the visitor's
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
        turn: _Turn = self._thread.turn
        self._thread.turn = None
        with self._lock:
            self._count(turn)
            self._line.leave(turn.ticket)
        return turn

    def _count(self, turn: _Turn) -> None:
        now = self._processor()
        if turn.ticket.visitor is not None:
            self._spent.add(turn.ticket.visitor, now - turn.counted_until)
        turn.counted_until = now


class _Places:
    # a thread that finds no free place waits while others change hands
    def __init__(self, count: int, patience_seconds: float) -> None:
        self._free = count
        self._patience_seconds = patience_seconds
        self._changed = threading.Condition()
        self._changed_at = -math.inf

    @contextmanager
    def held(self) -> Iterator[None]:
        # Raises ServerBusy if no place has changed hands for too long.
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


# one for the process: pages and endpoints share its processors
CPU_LIMITER = CpuLimiter(max(os.cpu_count() or 1, 2), READING)
