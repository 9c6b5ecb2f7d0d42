"""Work in the places of a pool, which begins, and ends when a test says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request

from gpusizer.core.cpu_limiter import VISITOR
from gpusizer.ui.server.asker import with_asker
from gpusizer.ui.server.work_pool import WorkPool
from tests.visitors import PATIENCE_SECONDS


def nothing_used(visitor: str) -> float:
    return 0.0


class Work:
    """Work that begins, and ends when it may."""

    def __init__(self) -> None:
        self.begun: list[str | None] = []
        self.may_end = threading.Event()

    def __call__(self) -> str | None:
        """Return for whom it is done."""
        self.begun.append(VISITOR.get())
        assert self.may_end.wait(PATIENCE_SECONDS)
        return VISITOR.get()

    async def has_begun(self, times: int) -> None:
        """Wait until it has begun so often."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.begun) < times:
                await asyncio.sleep(0.001)


@asynccontextmanager
async def working() -> AsyncIterator[Work]:
    """Work that ends at the latest when the test does, for which there is a time."""
    work = Work()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield work
    finally:
        work.may_end.set()


def asking(
    pool: WorkPool, visitor: str | None, work: Callable[[], Any], times: int = 1
) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(pool.run(visitor, work)) for _ in range(times)]


async def a_while() -> None:
    """Let every task come as far as it comes by itself."""
    for _ in range(20):
        await asyncio.sleep(0)


def request_of(visitor: str | None) -> Request:
    return Request(with_asker({"type": "http", "headers": []}, visitor))
