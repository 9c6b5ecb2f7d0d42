"""Flights: of several processes that want to read one model, one reads it for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from scrapers.redis_link import PREFIX, RedisLink

Value = TypeVar("Value")

LOCK_SECONDS = 6.0
"""Expiry of the lock: a process that died blocks no longer, a longer flight may be flown twice."""
_POLL_SECONDS = 0.05


class Flights(Protocol):
    """Lets one of all that want the same read it."""

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return what `read` returns, or what `find` returns after another process's `read`.

        Raises the ModelUnreadable of its own `read`.
        """
        ...


class OwnFlights:
    """Flights of a process that shares nothing: it reads."""

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return what `read` returns."""
        return read()


class RedisFlights:
    """Flights shared over a Redis, whose lock redis-py takes and gives back.

    Who has waited for the lock learns the result from the cache. While Redis is away, or where
    the lock is not free after `longest_seconds`, everybody reads.
    """

    def __init__(self, link: RedisLink, longest_seconds: float) -> None:
        self._link = link
        self._longest_seconds = longest_seconds

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Read, or wait for the process that reads."""
        lock = self._link.ask(lambda client: self._taken(client, PREFIX + name), None)
        if lock is None:
            return read()
        try:
            value = find()  # another flight may have landed meanwhile
            return read() if value is None else value
        finally:
            self._link.ask(lambda client: lock.release(), None)

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
