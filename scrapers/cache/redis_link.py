"""Redis shared by several processes: RedisLink to it, RedisEntries and RedisFlights in it.

This module needs the optional package redis: only `gpusizer/composition/shared.py` imports it, if
GPUSIZER_CACHE_URL is set.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import redis

from gpusizer.core.settings import Settings
from scrapers.cache.hub_access import HubAccess
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.client.allowance import RateLimitTracker

Value = TypeVar("Value")

# Prefix of every key.
PREFIX = "gpusizer:"
_CONNECT_SECONDS = 0.5
_ANSWER_SECONDS = 2.0
# Pause after a failure of Redis; then one request at a time tries it again.
_REST_SECONDS = 5.0
# A longer entry is not ours; the largest snapshots have about 2 MB.
MAX_ENTRY_BYTES = 32_000_000
# Expiry of an entry since its last write; Redis's `maxmemory` bounds the rest.
_KEPT_SECONDS = 30 * 86_400
# Expiry of the lock, which its holder extends: a process that died blocks no longer.
LOCK_SECONDS = 1.0
# Interval of these extensions. Without one for LOCK_SECONDS, a model may be read twice.
_EXTENSION_SECONDS = 0.25
_POLL_SECONDS = 0.05
# Time to store a model in Redis after it has been read.
_STORING_SECONDS = 2.0

_log = logging.getLogger(__name__)


class RedisLink:
    """Connection to a Redis. Commands have no effect while it is away. Thread-safe."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = redis.Redis.from_url(
            url,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_ANSWER_SECONDS,
            # A connection that idled during a restart of Redis is opened once more.
            retry=redis.retry.Retry(redis.backoff.NoBackoff(), 1),
        )
        self._clock = clock
        self._rests_until = 0.0
        self._is_away = False
        self._lock = threading.Lock()

    @property
    def is_reachable(self) -> bool:
        """Whether Redis answers now; False during the pause after a failure."""
        return self.ask(lambda client: bool(client.ping()), False)

    def ask(self, command: Callable[[redis.Redis], Value], default: Value) -> Value:
        """Return the result of `command` with the client; `default` if Redis is away or refuses."""
        if self._clock() < self._rests_until:
            return default
        try:
            value = command(self._client)
        # Redis refuses entries beyond its memory, commands that do not suit the type of a key, and
        # the release of an expired lock.
        except (redis.ResponseError, redis.exceptions.LockError):
            self._note(is_away=False)
            return default
        except (redis.RedisError, OSError) as error:
            self._note(is_away=True, reason=type(error).__name__)
            return default
        self._note(is_away=False)
        return value

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # One line of the log when it goes away and one when it is back, without its address, which may
    # hold a password.
    def _note(self, *, is_away: bool, reason: str = "") -> None:
        with self._lock:
            if is_away:
                self._rests_until = self._clock() + _REST_SECONDS
            if is_away == self._is_away:
                return
            self._is_away = is_away
        if is_away:
            _log.warning("the shared cache is away (%s): answering without it", reason)
        else:
            _log.warning("the shared cache is back")


class RedisEntries:
    """Keys of a Redis, each with an expiry. While it is away, this is an empty store."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    def read(self, name: str) -> bytes | None:
        """Return the content of an entry, None if it is missing or too long."""
        data = self._link.ask(
            lambda client: client.getrange(PREFIX + name, 0, MAX_ENTRY_BYTES), None
        )
        return data if isinstance(data, bytes) and 0 < len(data) <= MAX_ENTRY_BYTES else None

    def write(self, name: str, data: bytes) -> None:
        """Store an entry, replacing an earlier one."""
        if len(data) <= MAX_ENTRY_BYTES:
            self._link.ask(lambda client: client.set(PREFIX + name, data, ex=_KEPT_SECONDS), None)

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""
        self._link.ask(lambda client: client.delete(PREFIX + name), None)


class RedisFlights:
    """Lock in Redis, so that one of all processes reads.

    A process that has waited for the lock finds the result in the cache. If Redis is away, or the
    lock is not free after `longest_seconds`, every process reads.
    """

    def __init__(self, link: RedisLink, longest_seconds: float) -> None:
        self._link = link
        self._longest_seconds = longest_seconds

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return the result of `read`, or of `find` after another process's `read`.

        Raises the ModelUnreadable of its own `read`.
        """
        link = self._link
        lock = link.ask(lambda client: self._taken(client, PREFIX + name), None)
        if lock is None:
            return read()
        try:
            with _extended(link, lock):
                value = find()  # another flight may have landed meanwhile
                return read() if value is None else value
        finally:
            link.ask(lambda client: lock.release(), None)

    def _taken(self, client: redis.Redis, key: str) -> redis.lock.Lock | None:
        lock = client.lock(
            key,
            timeout=LOCK_SECONDS,
            sleep=_POLL_SECONDS,
            blocking_timeout=self._longest_seconds,
            thread_local=False,
        )
        return lock if lock.acquire() else None


def open_shared_access(url: str, settings: Settings) -> HubAccess:
    """Return an access whose cache and flights are in the Redis at `url`."""
    link = RedisLink(url)
    return HubAccess(
        RateLimitTracker(),
        SnapshotCache(RedisEntries(link), settings.endpoint),
        RedisFlights(link, settings.timeout_seconds + _STORING_SECONDS),
        shared_is_reachable=lambda: link.is_reachable,
    )


@contextmanager
def _extended(link: RedisLink, lock: redis.lock.Lock) -> Iterator[None]:
    # Extend the lock in a thread of its own, until the block ends.
    has_ended = threading.Event()

    def extend() -> None:
        while not has_ended.wait(_EXTENSION_SECONDS):
            link.ask(lambda client: lock.reacquire(), False)

    thread = threading.Thread(target=extend, name="lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()  # only one thread at a time may use the lock, and this one releases it
