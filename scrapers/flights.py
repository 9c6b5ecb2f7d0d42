"""Flights: of several processes that want to read one model, one reads it for all."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from gpusizer.core.errors import ModelUnreadable
from scrapers.redis_link import PREFIX, RedisLink

Value = TypeVar("Value")

LOCK_SECONDS = 6.0
"""Expiry of the lock. Its holder renews it, so that a process that died blocks no longer."""
_RENEWALS = 3
"""Times that a holder renews its lock within one expiry."""
_POLL_SECONDS = 0.05
_FAILURE_SECONDS = 5
"""How long those who wait can learn why a flight failed."""

_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end"
_RENEW = (
    "if redis.call('get', KEYS[1]) == ARGV[1]"
    " then return redis.call('pexpire', KEYS[1], ARGV[2]) end"
)
"""Compared with the token first: a lock that expired may be another process's by now."""


class Flights(Protocol):
    """Lets one of all that want the same read it."""

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return what `read` returns, or what `find` returns after another process's `read`.

        Raises the ModelUnreadable of whichever `read` it was.
        """
        ...


class OwnFlights:
    """Flights of a process that shares nothing: it reads."""

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return what `read` returns."""
        return read()


class RedisFlights:
    """Flights shared over a Redis: a lock with an expiry and a token, as its documentation of
    `SET` describes it. Who waits looks at the lock and learns the result from the cache, or the
    error from a note beside the lock. While Redis is away, everybody reads.

    `longest_seconds` bounds how long a lock is renewed, and how long another is waited for.
    """

    def __init__(
        self, link: RedisLink, longest_seconds: float, lock_seconds: float = LOCK_SECONDS
    ) -> None:
        self._link = link
        self._longest_seconds = longest_seconds
        self._lock_seconds = lock_seconds

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Read, or wait for the process that reads."""
        key, token = PREFIX + name, os.urandom(16).hex()
        end = time.monotonic() + self._longest_seconds
        while time.monotonic() < end:
            holder = self._take(key, token)
            if holder is None:
                return read()
            if holder == token:
                return self._lead(key, token, find, read)
            error = self._wait(key, holder, end)
            if error is not None:
                raise error
            value = find()
            if value is not None:
                return value
        return read()

    def _take(self, key: str, token: str) -> str | None:
        """The token of the lock's holder: `token` once it is taken, None while Redis is away."""
        milliseconds = round(self._lock_seconds * 1000)

        def take(client: Any) -> str:
            if client.set(key, token, nx=True, px=milliseconds):
                return token
            return _text(client.get(key))

        return self._link.ask(take, None)

    def _lead(
        self, key: str, token: str, find: Callable[[], Value | None], read: Callable[[], Value]
    ) -> Value:
        landed = threading.Event()
        renewal = threading.Thread(target=self._renew, args=(key, token, landed), daemon=True)
        renewal.start()
        try:
            value = find()  # another flight may have landed since the caller looked
            return read() if value is None else value
        except ModelUnreadable as error:
            note = json.dumps({"token": token, "code": error.code, "fields": error.fields})
            self._link.ask(
                lambda client: client.set(_failure_key(key), note, ex=_FAILURE_SECONDS), None
            )
            raise
        finally:
            landed.set()
            self._link.ask(lambda client: client.eval(_RELEASE, 1, key, token), None)

    def _renew(self, key: str, token: str, landed: threading.Event) -> None:
        """Renew the lock until the flight has landed or has taken too long."""
        end = time.monotonic() + self._longest_seconds
        milliseconds = round(self._lock_seconds * 1000)
        while not landed.wait(self._lock_seconds / _RENEWALS) and time.monotonic() < end:
            self._link.ask(lambda client: client.eval(_RENEW, 1, key, token, milliseconds), None)

    def _wait(self, key: str, holder: str, end: float) -> ModelUnreadable | None:
        """Wait until `holder` has no lock any more; return the error of its flight."""
        while time.monotonic() < end:
            pair = self._link.ask(lambda client: client.mget(key, _failure_key(key)), None)
            if pair is None or _text(pair[0]) != holder:
                return None if pair is None else _failure(pair[1], holder)
            time.sleep(_POLL_SECONDS)
        return None


def _failure_key(key: str) -> str:
    return f"{key}:failed"


_FIELD = (str, int, float, list, type(None))


def _text(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else ""


def _failure(note: Any, holder: str) -> ModelUnreadable | None:
    """The error of a holder's flight; None if it did not fail or the note is none of ours."""
    with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        data = json.loads(note)
        kind, fields = _kinds()[data["code"]], data["fields"]
        if data["token"] == holder and all(isinstance(value, _FIELD) for value in fields.values()):
            return kind(**fields)
    return None


def _kinds() -> dict[str, type[ModelUnreadable]]:
    """The kinds of ModelUnreadable by their code."""
    return {kind.code: kind for kind in ModelUnreadable.__subclasses__()}
