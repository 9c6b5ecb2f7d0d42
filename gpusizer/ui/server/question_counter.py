"""QuestionCounter: counts the questions of each visitor in a minute."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from hashlib import sha256

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

_MOST_WINDOWS = 8_192  # windows of the visitors of two minutes; one takes about 1 kB

# Digits of a visitor's key in use past that: visitors with equal beginnings share one of 4,096.
_SHARED_DIGITS = 3


class QuestionCounter:
    """Counts questions of visitors in this process.

    A window slides: the minute before the present one counts with the share that is less than a
    minute ago (`SlidingWindowCounterRateLimiter` of the library `limits`). The owner of a large
    network may be any number of visitors: past `most_windows` they share. Used by one event loop.
    """

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.time,
        most_windows: int = _MOST_WINDOWS,
    ) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._most_windows = most_windows
        self._item = RateLimitItemPerMinute(per_minute)
        self._windows = MemoryStorage()
        self._own = SlidingWindowCounterRateLimiter(self._windows)

    @property
    def windows(self) -> int:
        """Number of windows."""
        return len(self._windows.storage)

    async def seconds_to_wait(self, visitor: str) -> int | None:
        """Count a question; return None if it may be answered, else seconds to wait."""
        key = key_of(visitor)
        if self.windows >= self._most_windows:
            key = key[:_SHARED_DIGITS]
        return await self._hit(self._own, key)

    async def close(self) -> None:
        """Do nothing: there are no connections to close."""

    async def _hit(self, limiter: SlidingWindowCounterRateLimiter, key: str) -> int | None:
        if await limiter.hit(self._item, key):
            return None
        stats = await limiter.get_window_stats(self._item, key)
        return min(max(math.ceil(stats.reset_time - self._clock()), 1), 60)


def key_of(visitor: str) -> str:
    """Return a digest of a visitor's name, so that no store holds identities."""
    return sha256(visitor.encode(errors="replace")).hexdigest()[:32]
