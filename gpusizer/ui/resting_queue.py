"""RestingQueue: Gradio's queue of events, which looks for work less often while there is none."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any

import gradio as gr
from gradio.queueing import Queue

RESTING_SECONDS = 0.02
"""Between two looks of a queue that rests: the most by which the first event after it is late."""
_AWAKE_SECONDS = 1.0
"""After its last event a queue goes on to look as often as Gradio's does."""
_PROGRESS_SECONDS = 0.5
"""Between two looks for news of progress; no listener of ours has any."""
_EVENTS = 100
"""Events of which Gradio's queue keeps figures, for a monitor that is not served: 10,000 unless
told otherwise, so that memory would grow for as many calls."""
_SESSIONS = 2_000
"""Sessions whose names it keeps, as many as those whose messages Gradio's queue keeps."""


class RestingQueue(Queue):
    """A queue that rests a second after its last event, and keeps little of what is over.

    Gradio's queue looks for events 1,000 times a second and for news of their progress 100 times
    (`sleep_when_free` and `progress_update_sleep_when_free` of gradio/queueing.py, 6.31), which
    takes 2 % of a processor for each Blocks, and we serve four.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._awake_seconds = self.sleep_when_free
        self._timer: asyncio.TimerHandle | None = None
        self.ANALYTICS_MAX_EVENTS = _EVENTS
        self.sleep_when_free = RESTING_SECONDS
        self.progress_update_sleep_when_free = _PROGRESS_SECONDS

    async def push(self, *arguments: Any, **options: Any) -> Any:
        """Take an event in, as Gradio's queue does, and look often from now on."""
        self.sleep_when_free = self._awake_seconds
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_AWAKE_SECONDS, self._rest)
        result = await super().push(*arguments, **options)
        self._forget_sessions()
        return result

    def _forget_sessions(self) -> None:
        """Forget the oldest sessions that wait for no event.

        Gradio's queue never forgets one that was answered (`pending_event_ids_session`), and each
        call over HTTP is a session of its own.
        """
        sessions = self.pending_event_ids_session
        surplus = len(sessions) - _SESSIONS
        if surplus <= 0:
            return
        for name, events in list(islice(sessions.items(), surplus)):
            if not events:
                del sessions[name]

    def _rest(self) -> None:
        """Rest, unless events wait or are being answered."""
        if len(self) or self.get_active_worker_count():
            self._timer = asyncio.get_running_loop().call_later(_AWAKE_SECONDS, self._rest)
        else:
            self._timer, self.sleep_when_free = None, RESTING_SECONDS


def queue_events(blocks: gr.Blocks, concurrency: int, waiting: int) -> None:
    """Give a Blocks a RestingQueue: so many events at a time, and so many more that wait."""
    blocks.queue(default_concurrency_limit=concurrency, max_size=waiting)
    usual = blocks._queue
    blocks._queue = RestingQueue(
        live_updates=usual.live_updates,
        concurrency_count=usual.max_thread_count,
        update_intervals=usual.update_intervals,
        max_size=usual.max_size,
        blocks=blocks,
        default_concurrency_limit=usual.default_concurrency_limit,
    )
