"""FairQueue: Gradio's queue of a page, whose calls wait for a place of the shared pool."""

from __future__ import annotations

import asyncio
from typing import Any

from gradio.block_function import BlockFunction
from gradio.queueing import Event, Queue

from gpusizer.ui.server.asker import asker_of
from gpusizer.ui.server.work_pool import PLACES, WAITING, WorkPool

# calls that leave Gradio's line, which is one for all visitors, to wait in the pool's
_UNDER_WAY = PLACES + WAITING

# Interval at which a free queue looks for calls. Gradio 6.31 looks each millisecond
# (gradio/queueing.py), which takes each of the four queues 2 % of a core at rest.
_SECONDS_BETWEEN_LOOKS = 0.01


class FairQueue(Queue):
    """A queue that answers calls in places of `pool`; without one, calls wait in their functions.

    No listener has a limit of its own: a place is taken for a whole call, all steps of it.
    """

    def __init__(self, blocks: Any, pool: WorkPool | None) -> None:
        super().__init__(
            live_updates=True,
            concurrency_count=_UNDER_WAY,
            update_intervals=1,
            max_size=WAITING,
            blocks=blocks,
            default_concurrency_limit=None,
        )
        self.sleep_when_free = _SECONDS_BETWEEN_LOOKS
        self._pool = pool
        self._calls: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to take calls; `launch` has set the limit to the number of threads."""
        self.max_thread_count = _UNDER_WAY
        super().start()  # type: ignore[no-untyped-call]

    async def process_events(
        self, events: list[Event], batch: bool, begin_time: float, fn: BlockFunction
    ) -> None:
        """Answer calls of one visitor."""
        answer = super().process_events

        async def in_place() -> None:
            if self._pool is None:
                await answer(events, batch, begin_time, fn)
                return
            async with self._pool.place(asker_of(events[0].request)):
                await answer(events, batch, begin_time, fn)

        call = asyncio.create_task(in_place())
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            # A cancelled call leaves its thread behind, and Gradio's end of it gives the
            # call's room in the queue back: both are waited for, in a place.
            await asyncio.shield(call)
        except asyncio.CancelledError:
            for event in events:
                event.alive = False  # no further step is asked for
            raise
