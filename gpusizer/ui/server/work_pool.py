"""WorkPool: threads for work that would keep the event loop from everybody else."""

from __future__ import annotations

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from gpusizer.core.errors import ServerBusy
from gpusizer.core.work_turns import TURNS

Result = TypeVar("Result")

_SPARE = 4
"""Threads that are left, while others wait for the Hub, to answers that do not."""
_RETRY_AFTER_SECONDS = 2
"""An answer takes a fraction of a second; after two a line of waiting requests has moved on."""


class WorkPool:
    """Runs so many functions at a time, and lets so many more wait. Used by one event loop."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._limiter = CapacityLimiter(threads)
        self._most = threads + waiting
        self._may_wait = BoundedSemaphore(max(threads - _SPARE, 1))
        self._pending = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns. Raises what it raises, ServerBusy when too many wait."""
        if self._pending >= self._most:
            raise ServerBusy(retry_after_seconds=_RETRY_AFTER_SECONDS)
        self._pending += 1
        try:
            return await to_thread.run_sync(self._counted, work, limiter=self._limiter)
        finally:
            self._pending -= 1

    def _counted(self, work: Callable[[], Result]) -> Result:
        with TURNS.counted(self._may_wait):
            return work()
