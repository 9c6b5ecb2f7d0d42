"""SingleFlight: one computation for all simultaneous callers, and a cache of its results."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SingleFlight(Generic[Key, Value]):
    """Wraps a slow function: results are cached for `seconds`, failures are not.

    Threads that call it with a key that is being computed wait for that result. While a thread
    computes or waits it is inside of `waiting`. The least recently used results go first, when
    there are more than `entries` or when by `weigh` they take more than `max_bytes` together; a
    single result may be larger.
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
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._compute = compute
        self._entries = entries
        self._seconds = seconds
        self._weigh = weigh
        self._max_bytes = max_bytes
        self._clock = clock
        self._waiting = waiting
        self._lock = threading.Lock()
        self._results: OrderedDict[Key, _Result[Value]] = OrderedDict()
        self._used_bytes = 0

    def __call__(self, key: Key) -> Value:
        """Return the cached, awaited or newly computed result; raises the function's exception."""
        with self._lock:
            result = self._results.get(key)
            must_compute = result is None or result.until <= self._clock()
            if result is None or must_compute:
                self._drop(key)
                result = self._results[key] = _Result(self._clock() + self._seconds)
                self._make_room()
            self._results.move_to_end(key)
        if must_compute:
            self._fill(key, result)
        if result.future.done():
            return result.future.result()
        with self._waiting():
            return result.future.result()

    def _fill(self, key: Key, result: _Result[Value]) -> None:
        try:
            with self._waiting():
                value = self._compute(key)
            size_bytes = self._weigh(value)
        except BaseException as error:
            with self._lock:
                if self._results.get(key) is result:
                    self._drop(key)
            result.future.set_exception(error)
            return
        with self._lock:
            if self._results.get(key) is result:
                result.size_bytes = size_bytes
                self._used_bytes += size_bytes
                self._make_room()
        result.future.set_result(value)

    def _make_room(self) -> None:
        """Drop the least recently used results until the others keep to the bounds."""
        while len(self._results) > self._entries:
            self._drop(next(iter(self._results)))
        *older, _ = ((key, result.size_bytes) for key, result in self._results.items())
        for key, size_bytes in older:
            if self._used_bytes <= self._max_bytes:
                break
            if size_bytes:  # else it is awaited, and takes no memory yet
                self._drop(key)

    def _drop(self, key: Key) -> None:
        result = self._results.pop(key, None)
        if result is not None:
            self._used_bytes -= result.size_bytes


@dataclass(eq=False, slots=True)
class _Result(Generic[Value]):
    """A result that is there or awaited, when it expires, and the memory that it takes."""

    until: float
    future: Future[Value] = field(default_factory=Future)
    size_bytes: int = 0
