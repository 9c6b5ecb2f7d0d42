"""QuestionCounter: counts the questions of each visitor in a minute."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from hashlib import sha256

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

_MOST_WINDOWS = 8_192
"""Windows that are kept, of the visitors of two minutes; one takes about 1 kB."""
_SHARED_DIGITS = 3
"""Of a visitor's key where there are more: visitors whose keys begin alike share one of 4,096."""


class QuestionCounter:
    """Counts questions of visitors in this process.

    A window slides: of the minute before the present one, the share counts that is less than a
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
        """How many windows are kept."""
        return len(self._windows.storage)

    async def seconds_to_wait(self, visitor: str) -> int | None:
        """Count a question; return None if it is to be answered, else seconds to wait."""
        key = key_of(visitor)
        if self.windows >= self._most_windows:
            key = key[:_SHARED_DIGITS]
        return await self._hit(self._own, key)

    async def close(self) -> None:
        """Close connections; there are none."""

    async def _hit(self, limiter: SlidingWindowCounterRateLimiter, key: str) -> int | None:
        if await limiter.hit(self._item, key):
            return None
        stats = await limiter.get_window_stats(self._item, key)
        return min(max(math.ceil(stats.reset_time - self._clock()), 1), 60)


def key_of(visitor: str) -> str:
    """Return a digest of a visitor's name, so that no store holds who asked."""
    return sha256(visitor.encode(errors="replace")).hexdigest()[:32]
