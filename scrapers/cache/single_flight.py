"""SingleFlight: one computation for all simultaneous callers, and a cache of its results."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass
from typing import Generic, TypeVar

from cachetools import TTLCache

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SingleFlight(Generic[Key, Value]):
    """A slow function whose results are cached for `seconds`; failures are not cached.

    A thread that calls it with a key that is being computed waits for that result, inside of
    `waiting`; the one that computes is inside of `computing`.
    """

    def __init__(
        self,
        compute: Callable[[Key], Value],
        *,
        entries: int = 256,
        seconds: float = 600.0,
        weigh: Callable[[Value], int] = lambda value: 0,
        max_bytes: int = 0,
        clock: Callable[[], float] = time.monotonic,
        computing: Callable[[], AbstractContextManager[None]] = nullcontext,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        # The least recently used results are removed first, if there are more than `entries` or if
        # by `weigh` they take more than `max_bytes` together; a single result may be larger.
        def part(value: Value) -> float:
            weight = weigh(value) / max_bytes if max_bytes else 0.0
            return min(max(weight, 1 / entries), 1.0)

        self._compute = compute
        self._computing, self._waiting = computing, waiting
        self._lock = threading.Lock()
        self._running: dict[Key, Future[Value]] = {}
        self._results: TTLCache[Key, Value] = TTLCache(1.0, seconds, clock, part)

    def known(self, key: Key) -> Value | None:
        """Return the cached result, None if it is missing."""
        with self._lock:
            return self._results.get(key)

    def __call__(self, key: Key) -> Value:
        """Return the cached, awaited or newly computed result; raises the function's exception."""
        with self._lock:
            if key in self._results:
                return self._results[key]
            awaited = self._running.get(key)
            future = self._running[key] = awaited or Future()
        if awaited is None:
            self._fill(key, future)
            return future.result()
        with self._waiting():
            return future.result()

    def _fill(self, key: Key, future: Future[Value]) -> None:
        try:
            with self._computing():
                value = self._compute(key)
            with self._lock:
                self._results[key] = value
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(value)
        finally:
            with self._lock:
                del self._running[key]


def memory_bytes(value: object) -> int:
    """Return the bytes of a value of dataclasses, mappings, sequences and scalars.

    >>> memory_bytes("a" * 1000) - memory_bytes("")
    1000
    """
    # With all contents; an object that is referenced twice counts once.
    total_bytes, seen, waiting = 0, set[int](), [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        total_bytes += sys.getsizeof(item)
        if is_dataclass(item):
            waiting.extend(getattr(item, field.name) for field in fields(item))
        elif isinstance(item, Mapping):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            waiting.extend(item)
    return total_bytes
