"""ServedBlocks: a Blocks whose queue keeps bounded data alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import fastapi
import gradio as gr
from gradio.data_classes import PredictBodyInternal
from gradio.server_messages import EventMessage

from gpusizer.ui.page.fair_queue import FairQueue
from gpusizer.ui.server.unread_answers import Mailbox, UnreadAnswers
from gpusizer.ui.server.work_pool import PLACES, WorkPool

_MAX_UNREAD = PLACES  # answers that a session has to read before it may ask again

# Whether a call was taken; its event or the error; and the reason.
Pushed = tuple[
    bool,
    str | list[dict[str, Any]],
    Literal["success", "error", "queue_full", "validator_error"],
]


class ServedBlocks(gr.Blocks):
    """Blocks with our own queue, which create no FastAPI application.

    Gradio 6.31 creates one in each `queue()` (gradio/blocks.py), which its constructor calls, 0.07
    seconds each; `launch` or `mount_gradio_app` creates the one that serves anyway.
    """

    def __init__(self, unread: UnreadAnswers, title: str, pool: WorkPool | None = None) -> None:
        """Let listeners work in places of `pool`, if given."""
        self._unread = unread
        self._pool = pool
        super().__init__(title=title)

    def queue(self, *_: object, **__: object) -> Self:
        """Create the queue with our limits; Gradio's constructor calls this."""
        # As on a Space: calls outside of the queue would wait for a thread, without a limit.
        self.api_open = False
        self._queue = ServedQueue(self, self._unread, self._pool)
        return self


class ServedQueue(FairQueue):
    """Gradio's queue, whose sessions are within the limits of `unread`.

    Gradio 6.31 keeps the messages of 2,000 sessions in each queue, without a limit, until they are
    read, and the names of sessions and events for as long as it runs. Its routes read and write
    both by `pending_messages_per_session`, `pending_event_ids_session` and `event_ids_to_events`
    (gradio/routes.py), which are not documented.
    """

    def __init__(
        self, blocks: gr.Blocks, unread: UnreadAnswers, pool: WorkPool | None = None
    ) -> None:
        super().__init__(blocks, pool)
        self.ANALYTICS_MAX_EVENTS = 1  # of the monitoring page, which is closed
        self._unread = unread
        self._mailboxes = _Mailboxes(self._open, self.forget)
        # What Gradio declares, an LRUCache, forgets without a word.
        self.pending_messages_per_session = self._mailboxes  # type: ignore[assignment]
        self.pending_event_ids_session = _EventIds()

    async def push(
        self, body: PredictBodyInternal, request: fastapi.Request, username: str | None
    ) -> Pushed:
        """Take a call, unless too many answers wait for this session to read them."""
        mailbox = self._mailboxes.get(body.session_hash or "")
        if isinstance(mailbox, Mailbox) and mailbox.answers >= _MAX_UNREAD:
            return False, f"{mailbox.answers} answers wait to be read.", "queue_full"
        pushed: Pushed = await super().push(body, request, username)
        return pushed

    def _open(self, session: str) -> Mailbox:
        return self._unread.open(partial(self.forget, session))

    def forget(self, session: str) -> None:
        """Drop a session with its messages: its calls end unanswered, and its reader gets 404."""
        mailbox = self._mailboxes.pop(session, None)
        if isinstance(mailbox, Mailbox):
            self._unread.close(mailbox)
        for event_id in self.pending_event_ids_session.pop(session, ()):
            event = self.event_ids_to_events.get(event_id)
            if event is not None:
                event.alive = False

    def compute_analytics_summary(self, records: object) -> dict[str, dict[str, Any]]:
        """Return no summary: only the monitoring page, which is closed, would show it."""
        return self.cached_event_analytics_summary


class _Mailboxes(dict[str, asyncio.Queue[EventMessage]]):
    """Mailboxes of a queue by the names of their sessions."""

    def __init__(
        self, open_mailbox: Callable[[str], Mailbox], forget: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._open = open_mailbox
        self._forget = forget

    def __setitem__(self, session: str, _: asyncio.Queue[EventMessage]) -> None:
        """Add a session, with a mailbox instead of the queue that Gradio made for it."""
        super().__setitem__(session, self._open(session))

    def __delitem__(self, session: str) -> None:
        """Drop a session, whose reader has left; it may have been dropped before."""
        self._forget(session)


class _EventIds(dict[str, set[str]]):
    """Unanswered events of each session; empty for a dropped one, which may still be read."""

    def __missing__(self, session: str) -> set[str]:
        return set()
