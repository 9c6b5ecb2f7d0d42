"""Answers that wait for the Hub hold up neither each other nor those that need it not."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gpusizer.core.errors import ServerBusy
from gpusizer.core.work_turns import READING, TURNS
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.ui.answer_cache import AnswerCache
from gpusizer.ui.answers import Answers
from gpusizer.ui.endpoints import CONCURRENCY
from gpusizer.ui.work_pool import WorkPool
from scrapers.single_flight import SingleFlight
from tests.builders import tiny
from tests.coroutines import run_in_thread
from tests.sizers import embedded_sizer


def test_as_many_slow_readings_as_may_be_hold_up_no_other_answer() -> None:
    is_read, readings = threading.Event(), threading.Semaphore(0)

    def read(ref: ModelRef) -> RepoSnapshot:
        readings.release()
        assert is_read.wait(120)
        return tiny()

    sizer = embedded_sizer().reading(
        SingleFlight[ModelRef, RepoSnapshot](read, waiting=TURNS.reading)
    )
    answers = Answers(sizer, lambda token: sizer.fetch, AnswerCache(sizer))

    async def crowd() -> list[str]:
        pool = WorkPool(CONCURRENCY, 256)

        def size(number: int) -> str:
            fields = {"model": f"org/n{number}", "top": 1}
            return str(answers.ask("size", fields, None).json()["model"]["repo_id"])

        slow = [
            asyncio.create_task(pool.run(lambda number=number: size(number)))
            for number in range(READING)
        ]
        for _ in range(READING):
            assert await asyncio.to_thread(readings.acquire, timeout=120)
        listed = await pool.run(lambda: answers.ask("gpus", {"query": "4090"}, None).json())
        assert listed["gpus"]
        with pytest.raises(ServerBusy):
            await pool.run(lambda: size(READING))
        assert not any(task.done() for task in slow)
        is_read.set()
        return [await task for task in slow]

    assert len(run_in_thread(crowd())) == READING
