"""WorkPool: threads for work that would block the event loop.

A question waits without a thread until one of the places is free. Few questions of one visitor run
at a time, so that one visitor's queue holds neither the threads nor the turns of others
(core/work_turns.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from gpusizer.core.cpu_limiter import CPU_LIMITER, OF_ONE_VISITOR, VISITOR
from gpusizer.core.errors import GpusizerError, ServerBusy, TooManyRequests
from gpusizer.core.fair_line import FairLine, Ticket

Result = TypeVar("Result")

# Questions that run at a time, through every door: more than compute, since most of them may be
# waiting for the Hub. Pages work in Gradio's 40 threads, which leaves some for files and health.
PLACES = 32
WAITING = 256  # questions that may wait for a place; more are refused
_WAITING_OF_ONE = 32  # waiting questions of one visitor
_BRIEF = 8  # threads for work of milliseconds, apart from the places

# An answer takes a fraction of a second; after two a queue of waiting requests has moved on.
_BUSY_SECONDS = 2

# A visitor's own queue moves on with each answer, which takes up to four seconds.
_OWN_LINE_SECONDS = 5


class WorkPool:
    """Runs `threads` functions at a time, and lets `waiting` more wait. Used by one event loop.

    `used` returns a visitor's processor time; the visitor with the least is next.
    """

    def __init__(
        self,
        threads: int = PLACES,
        waiting: int = WAITING,
        waiting_of_one: int = _WAITING_OF_ONE,
        used: Callable[[str], float] = CPU_LIMITER.spent,
    ) -> None:
        self._line = FairLine(threads, OF_ONE_VISITOR, used)
        self._limiter = CapacityLimiter(threads)
        self._brief = CapacityLimiter(_BRIEF)
        self._most = threads + waiting
        self._most_of_one = OF_ONE_VISITOR + waiting_of_one
        self._under_way: Counter[str | None] = Counter()

    def refusal(self, visitor: str | None) -> GpusizerError | None:
        """Return why a visitor's question may not wait: ServerBusy, TooManyRequests or None."""
        if visitor is not None and self._under_way[visitor] >= self._most_of_one:
            return TooManyRequests(
                allowed=self._most_of_one, reason="under_way", retry_after_seconds=_OWN_LINE_SECONDS
            )
        if self._under_way.total() >= self._most:
            return ServerBusy(retry_after_seconds=_BUSY_SECONDS)
        return None

    @asynccontextmanager
    async def place(self, visitor: str | None) -> AsyncIterator[None]:
        """Wait for a place and hold it until also the futures of `held_by` have ended."""
        loop = asyncio.get_running_loop()
        admitted: asyncio.Future[None] = loop.create_future()

        def admit() -> None:
            if not admitted.done():  # else the waiting task is cancelled
                admitted.set_result(None)

        self._under_way[visitor] += 1
        ticket = self._line.join(visitor, admit)
        place = _Place(loop, partial(self._end, visitor, ticket))
        try:
            await admitted
            tokens = VISITOR.set(visitor), _PLACE.set(place)
            try:
                yield
            finally:
                VISITOR.reset(tokens[0])
                _PLACE.reset(tokens[1])
        finally:
            place.end_one()

    def _end(self, visitor: str | None, ticket: Ticket) -> None:
        self._under_way[visitor] -= 1
        if not self._under_way[visitor]:
            del self._under_way[visitor]
        self._line.leave(ticket)

    async def run(self, visitor: str | None, work: Callable[[], Result]) -> Result:
        """Return the result of `work` from a thread with a place.

        Raises its errors and those of `refusal`.
        """
        refusal = self.refusal(visitor)
        if refusal is not None:
            raise refusal
        async with self.place(visitor):
            # A cancelled question leaves a thread behind, which keeps the place to its end.
            thread = asyncio.ensure_future(to_thread.run_sync(work, limiter=self._limiter))
            held_by(thread)
            return await asyncio.shield(thread)

    async def briefly(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work` from a thread without a place.

        It must take milliseconds and wait for nothing.
        """
        return await to_thread.run_sync(work, limiter=self._brief)


class _Place:
    """One place of a pool, which `end` gives back once each of its holders has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
        self._loop = loop
        self._end = end
        self._lock = threading.Lock()
        self._holders = 1

    def hold(self, work: Future[Any] | asyncio.Future[Any]) -> None:
        """Hold the place until a future is done. Thread-safe."""
        with self._lock:
            self._holders += 1
        work.add_done_callback(self._done)

    def _done(self, work: Future[Any] | asyncio.Future[Any]) -> None:
        if not work.cancelled():
            work.exception()  # asyncio would log one that was never read
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self.end_one)

    def end_one(self) -> None:
        """End one holder. The event loop calls this."""
        with self._lock:
            self._holders -= 1
            is_last = self._holders == 0
        if is_last:
            self._end()


_PLACE: ContextVar[_Place | None] = ContextVar("place", default=None)


def held_by(work: Future[Any] | asyncio.Future[Any]) -> None:
    """Hold the place of the current work, if it has one, until a future is done as well."""
    place = _PLACE.get()
    if place is not None:
        place.hold(work)
