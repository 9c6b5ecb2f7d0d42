"""ServedBlocks: Gradio's Blocks with the queue of our pages."""

from __future__ import annotations

from typing import Any, Self

import gradio as gr
from gradio.queueing import Queue

from gpusizer.ui.endpoints import CONCURRENCY

_MAX_WAITING = 256
"""Calls that wait in the queue of a page or of the endpoints; more are refused."""


class ServedBlocks(gr.Blocks):
    """Blocks that make no FastAPI application when their queue is made.

    Gradio 6.31 makes one in each `queue()` (gradio/blocks.py), which its constructor calls, 0.07
    seconds each; the one that serves is made by `launch` or `mount_gradio_app` anyway.
    """

    def queue(self, *_: Any, **__: Any) -> Self:
        """Make the queue, with our numbers; Gradio's constructor calls this."""
        self._queue = Queue(
            live_updates=True,
            concurrency_count=self.max_threads,
            update_intervals=1,
            max_size=_MAX_WAITING,
            blocks=self,
            default_concurrency_limit=CONCURRENCY,
        )
        return self
