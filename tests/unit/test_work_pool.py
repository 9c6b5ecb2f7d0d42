"""WorkPool: so many at a time, so many waiting, the rest refused."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gpusizer.core.errors import ServerBusy
from gpusizer.ui.work_pool import WorkPool
from tests.coroutines import run_in_thread


def test_more_than_may_wait_are_refused_and_the_loop_stays_free() -> None:
    async def crowd() -> tuple[list[int], int]:
        pool, gate, started = WorkPool(threads=2, waiting=1), threading.Event(), []

        def work() -> int:
            started.append(threading.current_thread())
            gate.wait(30)
            return 7

        accepted = [asyncio.create_task(pool.run(work)) for _ in range(3)]
        while len(started) < 2:
            await asyncio.sleep(0.001)
        with pytest.raises(ServerBusy) as refusal:
            await pool.run(work)
        assert refusal.value.fields["retry_after_seconds"] == 2
        running = len(started)
        gate.set()
        results = [await task for task in accepted]
        assert await pool.run(work) == 7, "there is room again"
        return results, running

    results, running = run_in_thread(crowd())
    assert (results, running) == ([7, 7, 7], 2)


def test_a_failure_leaves_its_place() -> None:
    async def fail_often() -> None:
        pool = WorkPool(threads=1, waiting=0)
        for _ in range(3):
            with pytest.raises(ValueError, match="wrong"):
                await pool.run(_wrong)

    run_in_thread(fail_often())


def _wrong() -> None:
    raise ValueError("wrong")
