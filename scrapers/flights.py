"""Flights: of several processes that want to read one model, one reads it for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scrapers.redis_link import PREFIX, RedisLink

Value = TypeVar("Value")

LOCK_SECONDS = 6.0
"""Expiry of the lock: a process that died blocks no longer, a longer flight may be flown twice."""
_POLL_SECONDS = 0.05


class Flights:
    """Lets one of all processes with a Redis read, whose lock redis-py takes and gives back.

    Who has waited for the lock learns the result from the cache. Without a Redis, while it is away,
    or where the lock is not free after `longest_seconds`, everybody reads.
    """

    def __init__(self, link: RedisLink | None = None, longest_seconds: float = 0.0) -> None:
        self._link = link
        self._longest_seconds = longest_seconds

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return what `read` returns, or what `find` returns after another process's `read`.

        Raises the ModelUnreadable of its own `read`.
        """
        link = self._link
        if link is None:
            return read()
        lock = link.ask(lambda client: self._taken(client, PREFIX + name), None)
        if lock is None:
            return read()
        try:
            value = find()  # another flight may have landed meanwhile
            return read() if value is None else value
        finally:
            link.ask(lambda client: lock.release(), None)

    def _taken(self, client: Any, key: str) -> Any:
        """The lock, once it is taken; None where it is not free in time."""
        lock = client.lock(
            key,
            timeout=LOCK_SECONDS,
            sleep=_POLL_SECONDS,
            blocking_timeout=self._longest_seconds,
            thread_local=False,
        )
        return lock if lock.acquire() else None
