"""WorkTurns: threads that compute take turns; those that wait for the Hub leave their turn.

Python computes in one thread at a time, so that more threads than processors make every answer
slower and none faster. A thread that waits for the Hub computes nothing and may take half a minute.
So both are counted apart: readings of slow repositories neither hold up an answer that needs none,
nor are held up by long answers. A model that many wait for is read, and counted as such, once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

from gpusizer.core.errors import ServerBusy

READING = 24
"""Models that may be read at the same time: each may take the memory of `scrapers/limits.py`."""
WAITING = 28
"""Threads that may wait for the Hub, those that read and those that wait for what another one is
reading. Gradio runs 32 of its calls at once (`gpusizer/ui/questions/endpoints.py`)."""
_RETRY_AFTER_SECONDS = 5
"""A model is usually read within a second or two, and within 30 seconds or not at all."""


class _State(Enum):
    """The work of a thread. It is outside where it has no turn to leave: the threads of the shell,
    and those that a reading itself has begun."""

    OUTSIDE = auto()
    COMPUTING = auto()
    LOOKING_UP = auto()
    WAITING = auto()


class WorkTurns:
    """Bounds of the threads that compute, of those that wait for the Hub, and of those among them
    that read. Safe to share between threads.

    Threads inside of `counted` wait within the bound of their pool.
    """

    def __init__(self, computing: int, reading: int, waiting: int = WAITING) -> None:
        self._computing = threading.BoundedSemaphore(computing)
        self._reading = threading.BoundedSemaphore(reading)
        self._waiting = threading.BoundedSemaphore(waiting)
        self._thread = threading.local()

    @contextmanager
    def counted(self, waiting: threading.BoundedSemaphore) -> Iterator[None]:
        """Count this thread, when it waits, by the places of its pool until the end."""
        self._thread.waiting = waiting
        try:
            yield
        finally:
            del self._thread.waiting

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Hold one of the turns to compute; a thread that has one keeps it."""
        if self._state is _State.COMPUTING:
            yield
            return
        with self._computing, self._being(_State.COMPUTING):
            yield

    @contextmanager
    def looking_up(self) -> Iterator[None]:
        """Leave this thread's turn to compute, if it has one, to others until the end.

        For what takes a moment, as a look into a cache does: it is not counted.
        """
        if self._state is not _State.COMPUTING:
            yield
            return
        with self._being(_State.LOOKING_UP):
            self._computing.release()
            try:
                yield
            finally:
                self._computing.acquire()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Leave the turn, and wait for what another thread reads.

        Raises ServerBusy when as many threads wait already as may.
        """
        if self._state in (_State.OUTSIDE, _State.WAITING):
            yield
            return
        places = getattr(self._thread, "waiting", self._waiting)
        with self.looking_up(), _place_of(places), self._being(_State.WAITING):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Leave the turn, and read. Raises ServerBusy when as many wait or read already as may."""
        if self._state in (_State.OUTSIDE, _State.WAITING):
            yield
            return
        with self.looking_up(), _place_of(self._reading), self.waiting():
            yield

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


@contextmanager
def _place_of(places: threading.BoundedSemaphore) -> Iterator[None]:
    if not places.acquire(blocking=False):
        raise ServerBusy(retry_after_seconds=_RETRY_AFTER_SECONDS)
    try:
        yield
    finally:
        places.release()


TURNS = WorkTurns(max(os.cpu_count() or 1, 2), READING)
"""Those of this process: pages and endpoints share its processors."""
