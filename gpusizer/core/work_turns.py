"""WorkTurns: threads that compute take turns; those that wait for the Hub leave their turn.

Python computes in one thread at a time, so that more threads than processors make every answer
slower and none faster. A thread that waits for the Hub computes nothing and may take half a minute.
So both are counted apart: readings of slow repositories neither hold up an answer that needs none,
nor are held up by long answers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpusizer.core.errors import ServerBusy

READING = 24
"""Answers that may wait for the Hub at the same time; Gradio has 40 threads for all its work."""
_RETRY_AFTER_SECONDS = 5
"""A model is usually read within a second or two, and within 30 seconds or not at all."""


class WorkTurns:
    """So many threads compute, so many wait for the Hub. Safe to share between threads."""

    def __init__(self, computing: int, reading: int) -> None:
        self._computing = threading.BoundedSemaphore(computing)
        self._reading = threading.BoundedSemaphore(reading)
        self._thread = threading.local()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Hold one of the turns to compute; a thread that has one keeps it."""
        if self._has_turn:
            yield
            return
        with self._computing:
            self._thread.has_turn = True
            try:
                yield
            finally:
                self._thread.has_turn = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Leave this thread's turn to compute, if it has one, to others until the end.

        Raises ServerBusy when as many threads read already as may.
        """
        if not self._has_turn:  # the shell, or work that a reading itself has begun
            yield
            return
        if not self._reading.acquire(blocking=False):
            raise ServerBusy(retry_after_seconds=_RETRY_AFTER_SECONDS)
        try:
            self._thread.has_turn = False
            self._computing.release()
            try:
                yield
            finally:
                self._computing.acquire()
                self._thread.has_turn = True
        finally:
            self._reading.release()

    @property
    def _has_turn(self) -> bool:
        return getattr(self._thread, "has_turn", False)


TURNS = WorkTurns(max(os.cpu_count() or 1, 2), READING)
"""Those of this process: pages and endpoints share its processors."""
