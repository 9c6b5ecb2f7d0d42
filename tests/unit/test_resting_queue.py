"""RestingQueue: how often Gradio's queue looks for work while there is none, and while there is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import gradio as gr
import pytest
from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Queue

from gpusizer.ui import resting_queue
from gpusizer.ui.resting_queue import RESTING_SECONDS, RestingQueue, queue_events
from tests.coroutines import run_in_thread

T = TypeVar("T")


def with_queues(use: Callable[[RestingQueue, Queue], Awaitable[T]]) -> T:
    """Use ours and Gradio's, made in a running loop: elsewhere Gradio leaves loops open."""

    async def make_and_use() -> T:
        with gr.Blocks() as blocks:
            gr.Textbox()
        queue_events(blocks, concurrency=3, waiting=5)
        assert isinstance(blocks._queue, RestingQueue)
        return await use(blocks._queue, Queue(False, 1, 1, None, blocks))

    return run_in_thread(make_and_use())


def test_a_queue_has_the_limits_that_it_was_given() -> None:
    async def limits(queue: RestingQueue, _: Queue) -> tuple[object, object]:
        return queue.max_size, queue.default_concurrency_limit

    assert with_queues(limits) == (5, 3)


def test_a_queue_without_events_rests() -> None:
    async def pauses(queue: RestingQueue, usual: Queue) -> tuple[float, float, float, float]:
        progress = (queue.progress_update_sleep_when_free, usual.progress_update_sleep_when_free)
        return (queue.sleep_when_free, usual.sleep_when_free, *progress)

    looking, usual_looking, progress, usual_progress = with_queues(pauses)
    assert looking == RESTING_SECONDS >= 10 * usual_looking
    assert progress >= 10 * usual_progress


def test_an_event_wakes_it_until_all_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting_queue, "_AWAKE_SECONDS", 0.01)

    async def one_event(queue: RestingQueue, usual: Queue) -> None:
        success, _, _ = await queue.push(PredictBodyInternal(data=[]), None, None)
        assert not success, "an event without a function is refused"
        assert queue.sleep_when_free == usual.sleep_when_free
        queue.active_jobs = [[]]
        await asyncio.sleep(0.05)
        assert queue.sleep_when_free == usual.sleep_when_free, "an event is being answered"
        queue.active_jobs = [None]
        while queue.sleep_when_free != RESTING_SECONDS:
            await asyncio.sleep(0.01)

    with_queues(one_event)


def test_sessions_that_were_answered_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting_queue, "_SESSIONS", 3)

    async def names(queue: RestingQueue, _: Queue) -> list[str]:
        waiting = {"a": {"event"}, "b": set[str](), "c": set[str](), "d": set[str]()}
        queue.pending_event_ids_session = {**waiting, "e": {"event"}}
        await queue.push(PredictBodyInternal(data=[]), None, None)
        return list(queue.pending_event_ids_session)

    assert with_queues(names) == ["a", "c", "d", "e"]
