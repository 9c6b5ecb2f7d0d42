"""FairQueue: calls of pages wait for places of the pool that all doors share."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from gradio.queueing import Queue

from gpusizer.ui.page.fair_queue import FairQueue
from gpusizer.ui.server.work_pool import WorkPool
from tests.pool_work import a_while, asking, nothing_used, request_of, working
from tests.visitors import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


class Calls:
    """Calls of pages, by a queue whose base answers them as `work` says."""

    def __init__(self, pool: WorkPool | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ended: list[tuple[str, bool]] = []
        self.begun: list[str] = []
        self.may_end = asyncio.Event()
        calls = self

        async def answer(queue: Queue, events: list[Any], *_: object) -> None:
            (event,) = events
            if event.alive:
                calls.begun.append(event.name)
                await calls.may_end.wait()
            calls.ended.append((event.name, event.alive))

        monkeypatch.setattr(Queue, "process_events", answer)
        self._queue = FairQueue(None, pool)

    def call(self, name: str) -> asyncio.Task[None]:
        """Call in the name of a visitor, its first letter."""
        event: Any = SimpleNamespace(name=name, alive=True, request=request_of(name[0]))
        fn: Any = None
        return asyncio.create_task(self._queue.process_events([event], False, 0.0, fn))


async def test_calls_of_pages_take_places_of_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkPool(threads=8, waiting=8, used=nothing_used)
    calls = Calls(pool, monkeypatch)
    async with working() as work:
        (other_door,) = asking(pool, "a", work)
        tasks = [calls.call(name) for name in ("a1", "a2", "a3", "b1")]
        await a_while()
        assert calls.begun == ["a1", "b1"], "two of one visitor, through all doors"
        work.may_end.set()
        calls.may_end.set()
        await asyncio.gather(other_door, *tasks)
    assert [name for name, _ in calls.ended] == ["a1", "b1", "a2", "a3"]


async def test_a_cancelled_call_gives_its_room_back_in_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gradio's end of a call takes it off its lists, so that it is always reached."""
    pool = WorkPool(threads=1, waiting=8, used=nothing_used)
    calls = Calls(pool, monkeypatch)
    tasks = [calls.call(name) for name in ("a1", "b1", "c1")]
    await a_while()
    for task in tasks[:2]:
        task.cancel()
    await asyncio.wait(tasks[:2], timeout=PATIENCE_SECONDS)
    assert (calls.begun, calls.ended) == (["a1"], [])
    calls.may_end.set()
    await asyncio.wait_for(tasks[2], PATIENCE_SECONDS)
    assert calls.ended == [("a1", False), ("b1", False), ("c1", True)]
    await a_while()
    assert not pool._under_way


async def test_calls_of_endpoints_wait_in_their_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(None, monkeypatch)
    tasks = [calls.call(f"a{number}") for number in range(5)]
    await a_while()
    assert len(calls.begun) == 5
    calls.may_end.set()
    await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE_SECONDS)
