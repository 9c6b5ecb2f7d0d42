"""SharedCounter: counts the questions of each visitor in a Redis that several processes share.

This module needs the optional package redis: only `gpusizer/composition/shared.py` imports it, if
GPUSIZER_CACHE_URL is set.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from redis.asyncio import ConnectionPool

from gpusizer.ui.server.question_counter import QuestionCounter, key_of

_KEYS = "gpusizer:questions"  # prefix of the names of keys in the Redis
_REDIS_SECONDS = 0.5  # longest time for the Redis to connect or to answer
_REST_SECONDS = 5.0  # time without requests to a Redis that failed

_log = logging.getLogger(__name__)


class SharedCounter(QuestionCounter):
    """Counts questions in a Redis; while it is away, this process counts for itself."""

    def __init__(
        self, per_minute: int, redis_url: str, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(per_minute, clock)
        # Connections of our own, which can be closed; redis would try them again for seconds.
        self._connections = ConnectionPool.from_url(
            redis_url,
            retry=None,
            socket_connect_timeout=_REDIS_SECONDS,
            socket_timeout=_REDIS_SECONDS,
        )
        self._shared = SlidingWindowCounterRateLimiter(
            RedisStorage(
                f"async+redis+{redis_url}"
                if redis_url.startswith("unix:")
                else f"async+{redis_url}",
                wrap_exceptions=True,
                implementation="redispy",
                key_prefix=_KEYS,
                # Documented, of no declared type.
                connection_pool=self._connections,  # type: ignore[arg-type]
            )
        )
        self._rests_until = 0.0
        self._is_away = False

    async def seconds_to_wait(self, visitor: str) -> int | None:
        """Count a question; return None if it is to be answered, else seconds to wait."""
        if self._clock() < self._rests_until:
            return await super().seconds_to_wait(visitor)
        try:
            seconds = await self._hit(self._shared, key_of(visitor))
        except StorageError:
            self._rests_until = self._clock() + _REST_SECONDS
            self._note(is_away=True)
            return await super().seconds_to_wait(visitor)
        self._note(is_away=False)
        return seconds

    async def close(self) -> None:
        """Close the connections to the Redis."""
        await self._connections.aclose()

    def _note(self, *, is_away: bool) -> None:
        if is_away != self._is_away:
            self._is_away = is_away
            state = "away: this process counts its own" if is_away else "back"
            _log.warning("the shared count of questions is %s", state)
