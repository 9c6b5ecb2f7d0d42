"""QueuedBlocks: a Blocks whose queue is bounded from the start."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.ui.endpoints import CONCURRENCY

MAX_WAITING = 256
"""Calls that wait in the queue of a page or of the endpoints; more are refused."""


class QueuedBlocks(gr.Blocks):
    """A Blocks with our limits of the queue where `queue` names none.

    Gradio (6.31) calls `queue` when it makes a Blocks. Every call makes a queue and an application
    of 80 routes, so that a second one to name the limits would take a quarter of a second of four
    Blocks' start.
    """

    def queue(self, *arguments: Any, **limits: Any) -> gr.Blocks:
        """Make the queue, as `gr.Blocks` does."""
        usual = {"max_size": MAX_WAITING, "default_concurrency_limit": CONCURRENCY}
        blocks: gr.Blocks = super().queue(*arguments, **{**usual, **limits})
        return blocks
