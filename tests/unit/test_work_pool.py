"""WorkPool: places for questions, few of one visitor; the queue of pages, which waits for them."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import gradio as gr
import pytest
from starlette.requests import Request

from gpusizer.core.cpu_limiter import CPU_LIMITER, OF_ONE_VISITOR, READING, VISITOR, CpuLimiter
from gpusizer.core.errors import InvalidRequest, ServerBusy, TooManyRequests
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import OnStep, ReadingStep
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.ui.server import answer_cache
from gpusizer.ui.server.answer_cache import Answer, AnswerCache, Answers
from gpusizer.ui.server.asker import asker_of, with_asker
from gpusizer.ui.server.reading import Reading
from gpusizer.ui.server.work_pool import WorkPool
from scrapers.cache.single_flight import SingleFlight
from tests.builders import tiny
from tests.pool_work import Work, a_while, asking, nothing_used, request_of, working
from tests.sizers import embedded_sizer
from tests.visitors import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_as_many_slow_readings_as_may_be_hold_up_no_other_answer() -> None:
    is_read, readings = threading.Event(), threading.Semaphore(0)

    def read(ref: ModelRef) -> RepoSnapshot:
        readings.release()
        assert is_read.wait(PATIENCE_SECONDS)
        return tiny()

    sizer = embedded_sizer().reading(
        SingleFlight[ModelRef, RepoSnapshot](read, computing=CPU_LIMITER.reading)
    )
    answers = Answers(sizer, lambda token: sizer.fetch, AnswerCache(sizer))

    def size(number: int) -> str:
        fields = {"model": f"org/n{number}", "top": 1}
        return str(answers.ask("size", fields, None).json()["model"]["repo_id"])

    pool = answers.pool
    slow = [
        asyncio.create_task(pool.run(None, lambda number=number: size(number)))
        for number in range(READING)
    ]
    for _ in range(READING):
        assert await asyncio.to_thread(readings.acquire, timeout=PATIENCE_SECONDS)
    listed = await answers.asked_by(None, "gpus", {"query": "4090"}, None)
    assert listed.json()["gpus"]
    with pytest.raises(ServerBusy):
        await pool.run(None, lambda: size(READING))
    assert not any(task.done() for task in slow)
    is_read.set()
    assert len([await task for task in slow]) == READING


async def test_more_than_may_wait_are_refused_and_the_loop_stays_free() -> None:
    pool = WorkPool(threads=2, waiting=1)
    async with working() as work:
        accepted = asking(pool, None, work, 3)
        await work.has_begun(2)
        with pytest.raises(ServerBusy) as refusal:
            await pool.run(None, work)
        assert refusal.value.fields["retry_after_seconds"] == 2
        assert len(work.begun) == 2
        work.may_end.set()
        assert [await task for task in accepted] == [None] * 3
        assert await pool.run(None, lambda: 7) == 7, "there is room again"


async def test_of_one_visitor_two_are_worked_on_and_few_more_may_wait() -> None:
    pool = WorkPool(threads=8, waiting=64, waiting_of_one=3, used=nothing_used)
    async with working() as work:
        heavy = asking(pool, "heavy", work, 5)
        await work.has_begun(OF_ONE_VISITOR)
        with pytest.raises(TooManyRequests) as refused:
            await pool.run("heavy", work)
        assert refused.value.fields == {
            "allowed": 5,
            "reason": "under_way",
            "retry_after_seconds": 5,
        }
        assert await pool.run("light", VISITOR.get) == "light"
        assert await pool.run(None, VISITOR.get) is None
        assert work.begun == ["heavy"] * OF_ONE_VISITOR
        work.may_end.set()
        assert [await task for task in heavy] == ["heavy"] * 5
        assert pool.refusal("heavy") is None and not pool._under_way


async def test_the_next_place_is_of_who_has_used_least() -> None:
    used = {"heavy": 9.0, "light": 1.0, "new": 0.0}
    pool, order = WorkPool(threads=1, waiting=9, used=used.__getitem__), list[str | None]()
    async with working() as work:
        first = asking(pool, None, work)
        await work.has_begun(1)
        others = [
            *asking(pool, "heavy", lambda: order.append(VISITOR.get()), 2),
            *asking(pool, "light", lambda: order.append(VISITOR.get()), 2),
            *asking(pool, "new", lambda: order.append(VISITOR.get())),
        ]
        await a_while()
        work.may_end.set()
        await asyncio.gather(*first, *others)
    assert order == ["new", "light", "light", "heavy", "heavy"]


async def test_what_takes_no_time_needs_no_place() -> None:
    pool = WorkPool(threads=1, waiting=0)
    async with working() as work:
        busy = asking(pool, "heavy", work)
        await work.has_begun(1)
        assert await pool.briefly(lambda: 7) == 7
        work.may_end.set()
        await asyncio.gather(*busy)


async def test_a_failure_leaves_its_place() -> None:
    pool = WorkPool(threads=1, waiting=0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(3):
            with pytest.raises(ValueError, match="wrong"):
                await pool.run("a", _wrong)


def _wrong() -> None:
    raise ValueError("wrong")


async def test_a_cancelled_question_holds_its_place_until_its_thread_ends() -> None:
    pool = WorkPool(threads=1, waiting=8, used=nothing_used)
    async with working() as work:
        (gone,) = asking(pool, "a", work)
        await work.has_begun(1)
        (next_one,) = asking(pool, "b", lambda: "next")
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        await asyncio.wait([next_one], timeout=0.05)
        assert not next_one.done()
        work.may_end.set()
        assert await next_one == "next"
        assert not pool._under_way


async def test_a_question_cancelled_in_the_line_leaves_it() -> None:
    pool = WorkPool(threads=1, waiting=8, used=nothing_used)
    async with working() as work:
        (first,) = asking(pool, "a", work)
        await work.has_begun(1)
        (gone,) = asking(pool, "b", work)
        await a_while()
        gone.cancel()
        await asyncio.wait([gone])
        assert list(pool._under_way) == ["a"]
        work.may_end.set()
        assert await first == "a"
        assert await pool.run("c", lambda: work.begun) == ["a"]


def answers_of(pool: WorkPool, work: Work) -> Answers:
    """Answers about models that are known at once, but for one that is read as `work` says."""

    class Known:
        def __call__(self, ref: ModelRef) -> RepoSnapshot:
            if ref.repo_id == "org/slow":
                work()
            return tiny()

        def known(self, ref: ModelRef) -> RepoSnapshot | None:
            return None if ref.repo_id == "org/slow" else tiny()

    sizer = embedded_sizer().reading(Known())
    return Answers(sizer, lambda token: sizer.fetch, AnswerCache(sizer), pool)


async def test_what_is_known_waits_for_no_place_and_no_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even behind the visitor's own questions, which have all turns; other questions wait."""
    monkeypatch.setattr(answer_cache, "CPU_LIMITER", CpuLimiter(2, 1))

    async with working() as work:
        answers = answers_of(WorkPool(threads=2, waiting=8, used=nothing_used), work)
        known = {"model": "org/known", "top": 1, "gpu": "4090"}

        def ask(token: str | None = None, **fields: object) -> asyncio.Task[Answer]:
            asked = {**known, **fields}
            return asyncio.create_task(answers.asked_by("a", "size", asked, token))

        first = await ask()
        slow = [ask(model="org/slow", top=number) for number in (1, 2)]
        await work.has_begun(2)
        assert await ask() is first
        others = [ask(top=2), ask("hf_token")]
        await asyncio.wait(others, timeout=0.05)
        assert not any(task.done() for task in (*slow, *others))
        with pytest.raises(InvalidRequest):
            await ask(top=-1)
        work.may_end.set()
        await asyncio.gather(*slow, *others)
        assert not (await others[1]).is_public


def test_who_asks_is_written_on_the_request() -> None:
    """Gradio hands a request of its own to functions, around the one of HTTP."""
    scope = {"type": "http", "headers": [], "state": {"of": "others"}}
    request = Request(with_asker(scope, "a"))
    assert asker_of(request) == asker_of(gr.Request(request)) == "a"
    assert (request.state.of, scope["state"]) == ("others", {"of": "others"})
    unknown = (None, Request(scope), request_of(None), SimpleNamespace(session={}), gr.Request())
    assert [asker_of(who) for who in unknown] == [None] * 5


async def test_whoever_leaves_while_a_model_is_read_is_not_waited_for() -> None:
    """Gradio ends a listener in the event loop. The thread that reads on holds the place."""
    step = ReadingStep("files", 4)

    pool = WorkPool(threads=1, waiting=8, used=nothing_used)
    async with working() as work:

        def read(on_step: OnStep) -> str | None:
            on_step(step)
            return work()

        reading = Reading(read)
        async with pool.place("a"):
            steps = iter(reading)
            assert await asyncio.to_thread(next, steps) == (step,)
            steps.close()
        await work.has_begun(1)
        (other,) = asking(pool, "b", lambda: "other")
        await asyncio.wait([other], timeout=0.05)
        assert work.begun == ["a"] and not other.done()
        work.may_end.set()
        assert await other == "other"
        assert reading.result == "a"


def test_a_reading_without_a_pool_ends_by_itself() -> None:
    reading = Reading(lambda on_step: 7)
    assert list(reading) == [] and reading.result == 7
