"""Work in the name of visitors, in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from gpusizer.core.cpu_limiter import VISITOR

T = TypeVar("T")
PATIENCE_SECONDS = 120  # limit of tests that wait for something that never comes


class Crowd:
    """Threads that each work for one visitor."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(64)
        self.gates: list[threading.Event] = []

    def work(self, visitor: str | None, function: Callable[[], T]) -> Future[T]:
        """Begin to work for a visitor."""

        def for_visitor() -> T:
            VISITOR.set(visitor)
            return function()

        return self._pool.submit(for_visitor)

    def gate(self) -> threading.Event:
        """Return an event that is set when the test ends at the latest, so that no thread stays."""
        self.gates.append(threading.Event())
        return self.gates[-1]

    def close(self) -> None:
        """Open all gates and wait for the threads."""
        for gate in self.gates:
            gate.set()
        self._pool.shutdown()


@contextmanager
def crowd() -> Iterator[Crowd]:
    """Yield a crowd that leaves at the end."""
    visitors = Crowd()
    try:
        yield visitors
    finally:
        visitors.close()
