"""Threads and turns of work, and the pools that Gradio's calls run in."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpusizer.core.errors import ServerBusy
from gpusizer.core.work_turns import READING, TURNS, WAITING, WorkTurns
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.ui.questions.answer_cache import AnswerCache, Answers
from gpusizer.ui.questions.endpoints import CONCURRENCY
from gpusizer.ui.server.work_pool import WorkPool
from scrapers.cache.single_flight import SingleFlight
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
        SingleFlight[ModelRef, RepoSnapshot](read, computing=TURNS.reading)
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


def test_more_than_may_wait_are_refused_and_the_loop_stays_free() -> None:
    async def crowd() -> tuple[list[int], int]:
        pool, gate, started = WorkPool(threads=2, waiting=1), threading.Event(), []

        def work() -> int:
            started.append(threading.current_thread())
            gate.wait(120)
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


def test_a_reading_lets_others_compute() -> None:
    turns, is_reading, is_read = WorkTurns(1, 1), threading.Event(), threading.Event()

    def read() -> str:
        with turns.computing():
            with turns.reading():
                is_reading.set()
                assert is_read.wait(120)
            return "read"

    def compute() -> str:
        with turns.computing():
            return "computed"

    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(read)
        assert is_reading.wait(120)
        assert pool.submit(compute).result(30) == "computed"
        is_read.set()
        assert reading.result(30) == "read"


def test_so_many_compute_at_a_time() -> None:
    turns, running, peaks = WorkTurns(2, 1), [], []

    def compute(_: int) -> None:
        with turns.computing(), turns.computing():
            running.append(1)
            peaks.append(len(running))
            threading.Event().wait(0.01)
            running.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(compute, range(24)))
    assert max(peaks) == 2


def test_more_readings_than_may_are_refused_and_give_back_what_they_held() -> None:
    turns, is_reading, is_read = WorkTurns(2, 1), threading.Event(), threading.Event()

    def read() -> None:
        with turns.computing(), turns.reading():
            is_reading.set()
            assert is_read.wait(120)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(read)
        assert is_reading.wait(120)
        for _ in range(5):
            with pytest.raises(ServerBusy), turns.computing(), turns.reading():
                pytest.fail("one too many")
        is_read.set()
        first.result(30)
    with turns.computing(), turns.reading():
        pass


def test_a_failed_reading_takes_its_turn_back() -> None:
    turns = WorkTurns(1, 1)
    for _ in range(3):
        with pytest.raises(ValueError, match="wrong"), turns.computing(), turns.reading():
            raise ValueError("wrong")
    with turns.computing():
        pass


def test_work_without_a_turn_is_not_counted() -> None:
    turns = WorkTurns(1, 1)
    with turns.reading(), turns.reading(), turns.reading():
        pass


def test_who_looks_into_a_cache_leaves_the_turn_and_takes_no_place() -> None:
    turns = WorkTurns(1, 1)

    def read() -> str:
        with turns.computing(), turns.reading():
            return "read"

    with turns.computing(), turns.looking_up(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(read).result(30) == "read", "turn and place are free"
        with turns.reading(), pytest.raises(ServerBusy):
            pool.submit(read).result(30)
        assert pool.submit(read).result(30) == "read", "the place is free again"


class _Flown:
    """A model whose reading ends when the test says so."""

    def __init__(self, turns: WorkTurns) -> None:
        self.turns = turns
        self.has_begun, self.may_land = threading.Event(), threading.Event()
        self.flights = SingleFlight[str, str](
            self._read, computing=turns.reading, waiting=turns.waiting
        )

    def _read(self, key: str) -> str:
        self.has_begun.set()
        assert self.may_land.wait(120)
        return key.upper()

    def ask(self, key: str) -> str:
        with self.turns.computing():
            return self.flights(key)


def test_those_who_wait_for_one_model_are_one_reading() -> None:
    flown = _Flown(WorkTurns(2, reading=1, waiting=9))
    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(flown.ask, "a")]
        assert flown.has_begun.wait(120)
        answers += [pool.submit(flown.ask, "a") for _ in range(8)]
        with pytest.raises(ServerBusy):
            flown.ask("b")
        flown.may_land.set()
        assert [answer.result(120) for answer in answers] == ["A"] * 9


def test_no_more_threads_wait_than_may() -> None:
    flown = _Flown(WorkTurns(2, reading=9, waiting=1))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(flown.ask, "a")
        assert flown.has_begun.wait(120)
        for key in ("a", "b"):
            with pytest.raises(ServerBusy):
                flown.ask(key)
        flown.may_land.set()
        assert answer.result(120) == "A"
    assert flown.ask("b") == "B"


def test_each_pool_of_threads_has_some_that_do_not_wait() -> None:
    """However many wait for one model, and however many threads of another pool do."""
    assert WAITING < CONCURRENCY, "Gradio answers so many calls at a time"
    flown = _Flown(TURNS)

    async def crowd(pool: WorkPool) -> set[asyncio.Task[str]]:
        """Five ask, of whom one is refused."""
        tasks = [asyncio.create_task(pool.run(lambda: flown.ask("a"))) for _ in range(5)]
        (refused,), slow = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert isinstance(refused.exception(), ServerBusy)
        assert await pool.run(lambda: "computed") == "computed"
        return slow

    async def crowds() -> list[str]:
        slow = [task for _ in range(2) for task in await crowd(WorkPool(8, 8))]
        flown.may_land.set()
        return [await task for task in slow]

    assert run_in_thread(crowds()) == ["A"] * 8


def test_a_flight_that_may_not_begin_fails_for_all_and_may_be_tried_again() -> None:
    turns, full = WorkTurns(1, 1), threading.Event()
    flights = SingleFlight[str, str](lambda key: key.upper(), computing=turns.reading)

    def fill() -> None:
        with turns.computing(), turns.reading():
            full.set()
            assert release.wait(120)

    release = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(fill)
        assert full.wait(120)
        with pytest.raises(ServerBusy), turns.computing():
            flights("a")
        release.set()
        first.result(30)
    with turns.computing():
        assert flights("a") == flights("a") == "A"
