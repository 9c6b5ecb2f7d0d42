"""SingleFlight: one computation for all simultaneous callers, and a cache of its results."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SingleFlight(Generic[Key, Value]):
    """Wraps a slow function: results are cached for `seconds`, failures are not.

    Threads that call it with a key that is being computed wait for that result. While a thread
    computes or waits it is inside of `waiting`.
    """

    def __init__(
        self,
        compute: Callable[[Key], Value],
        *,
        entries: int = 256,
        seconds: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._compute = compute
        self._entries = entries
        self._seconds = seconds
        self._clock = clock
        self._waiting = waiting
        self._lock = threading.Lock()
        self._results: OrderedDict[Key, tuple[float, Future[Value]]] = OrderedDict()

    def __call__(self, key: Key) -> Value:
        """Return the cached, awaited or newly computed result; raises the function's exception."""
        with self._lock:
            entry = self._results.get(key)
            must_compute = entry is None or entry[0] <= self._clock()
            future: Future[Value] = Future() if entry is None or must_compute else entry[1]
            if must_compute:
                self._results[key] = (self._clock() + self._seconds, future)
                while len(self._results) > self._entries:
                    self._results.popitem(last=False)
            self._results.move_to_end(key)
        if must_compute:
            self._fill(key, future)
        if future.done():
            return future.result()
        with self._waiting():
            return future.result()

    def _fill(self, key: Key, future: Future[Value]) -> None:
        try:
            with self._waiting():
                value = self._compute(key)
            future.set_result(value)
        except BaseException as error:
            with self._lock:
                if self._results.get(key, (0.0, None))[1] is future:
                    del self._results[key]
            future.set_exception(error)
