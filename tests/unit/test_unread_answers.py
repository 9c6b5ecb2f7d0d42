"""Messages for a reader are bounded, whole when he comes, and gone when he does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import gradio as gr
import httpx
import pytest
from fastapi import Request
from gradio.events import api
from gradio.queueing import Event
from gradio.routes import App
from gradio.server_messages import EstimationMessage, ProcessCompletedMessage

from gpusizer.ui.page.served_blocks import ServedBlocks
from gpusizer.ui.page.sessions import Sessions, keep_less
from gpusizer.ui.server.unread_answers import UNREAD_SECONDS, Mailbox, UnreadAnswers
from gpusizer.ui.server.work_pool import PLACES
from tests.clock import Clock

pytestmark = pytest.mark.anyio

ANSWER = {"data": ["\ud800 é 模", 0.1, None, [{"a": 1}], float("inf")], "is_generating": False}


def completed(answer: dict[str, Any] = ANSWER) -> ProcessCompletedMessage:
    return ProcessCompletedMessage(output=answer, success=True, event_id="event")


def large(number: int, letters: int = 20_000) -> ProcessCompletedMessage:
    """Return an answer that compression does not make small."""
    return completed({"data": [Random(number).randbytes(letters).hex()]})


class Kept:
    """Mailboxes by name, as a queue keeps them."""

    def __init__(self, **bounds: Any) -> None:
        self.clock = Clock()
        self.unread = UnreadAnswers(clock=self.clock, **bounds)
        self.boxes: dict[str, Mailbox] = {}

    def open(self, name: str) -> Mailbox:
        self.boxes[name] = self.unread.open(lambda: self.unread.close(self.boxes.pop(name)))
        return self.boxes[name]


async def test_an_answer_that_waited_is_what_it_was() -> None:
    mailbox = Kept().open("a")
    mailbox.put_nowait(EstimationMessage(rank=0, queue_size=1))
    mailbox.put_nowait(completed())
    assert mailbox.answers == 1
    assert (await mailbox.get()).model_dump()["queue_size"] == 1
    assert (await mailbox.get()).model_dump() == completed().model_dump()
    assert (mailbox.answers, mailbox.size_bytes) == (0, 0)


async def test_an_answer_whose_reader_waits_is_handed_on_as_it_is() -> None:
    mailbox = Kept().open("a")
    reading = asyncio.create_task(mailbox.get())
    await asyncio.sleep(0)
    message = completed()
    mailbox.put_nowait(message)
    assert await reading is message


async def test_what_waits_is_packed_and_counted() -> None:
    kept = Kept()
    first, second = kept.open("a"), kept.open("b")
    first.put_nowait(completed({"data": ["x" * 1_000_000]}))
    assert 1_000 < first.size_bytes < 10_000
    second.put_nowait(large(1))
    assert second.size_bytes > 20_000
    assert kept.unread.size_bytes == first.size_bytes + second.size_bytes
    await first.get()
    assert kept.unread.size_bytes == second.size_bytes
    second.forget()
    assert (kept.unread.size_bytes, kept.unread.sessions) == (0, 1)
    second.put_nowait(large(2))  # by a call that does not know yet
    assert kept.unread.size_bytes == 0


async def test_bytes_are_bounded_and_the_oldest_goes_first() -> None:
    kept = Kept(max_bytes=200_000)
    for number in range(40):
        kept.clock.now += 1
        kept.open(f"s{number}").put_nowait(large(number))
        assert kept.unread.size_bytes <= 200_000
    left = [*kept.boxes]
    assert 2 < len(left) < 10
    assert left == [f"s{number}" for number in range(40 - len(left), 40)]


async def test_one_session_alone_is_bounded_too() -> None:
    kept = Kept(max_bytes=200_000)
    mailbox = kept.open("a")
    for number in range(40):
        mailbox.put_nowait(large(number))
        assert kept.unread.size_bytes <= 200_000
    assert kept.boxes == {}


async def test_a_session_without_messages_does_not_go_for_bytes() -> None:
    kept = Kept(max_bytes=200_000)
    kept.open("waiting")
    for number in range(12):
        kept.open(f"s{number}").put_nowait(large(number))
    assert "waiting" in kept.boxes and "s0" not in kept.boxes


async def test_sessions_are_bounded() -> None:
    kept = Kept(most_sessions=3)
    for name in "abcd":
        kept.open(name)
    assert [*kept.boxes] == ["b", "c", "d"]
    kept.boxes["b"].put_nowait(completed())
    await kept.boxes["b"].get()
    kept.open("e")
    assert [*kept.boxes] == ["b", "d", "e"], "who reads is not old"
    waiting = asyncio.create_task(kept.boxes["d"].get())
    await asyncio.sleep(0)
    for name in "fgh":
        kept.open(name)
    assert [*kept.boxes] == ["d", "g", "h"], "who waits is kept"
    waiting.cancel()


async def test_unread_answers_go_after_a_minute() -> None:
    kept = Kept()
    for name in ("unread", "read", "waiting", "early"):
        kept.open(name)
    kept.clock.now += UNREAD_SECONDS - 1
    kept.boxes["unread"].put_nowait(completed())  # its minute begins now
    kept.boxes["read"].put_nowait(completed())
    await kept.boxes["read"].get()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(kept.boxes["waiting"].get(), 0.01)
    kept.unread.sweep()
    assert set(kept.boxes) == {"unread", "read", "waiting", "early"}
    kept.clock.now += 1
    kept.unread.sweep()
    assert set(kept.boxes) == {"unread", "read", "waiting"}
    kept.boxes["unread"].put_nowait(completed())  # no other minute for what is not read
    kept.clock.now += UNREAD_SECONDS - 1
    kept.unread.sweep()
    assert kept.boxes == {} and kept.unread.sessions == 0


class Served:
    """A Blocks with an echo, served in this process."""

    def __init__(self, blocks: gr.Blocks, client: httpx.AsyncClient, unread: Kept) -> None:
        self.queue = blocks._queue
        self.sessions = blocks.state_holder
        self.client = client
        self.kept = unread

    async def join(self, session: str, text: str = "x", length: str = "") -> httpx.Response:
        """Call the echo in a session, and wait until it has answered; `length` is what the body is
        said to have."""
        content = json.dumps({"data": [text], "fn_index": 0, "session_hash": session})
        headers = {"content-type": "application/json"}
        headers |= {"content-length": length} if length else {}
        answer = await self.client.post("gradio_api/queue/join", content=content, headers=headers)
        while self.queue.event_ids_to_events:
            await asyncio.sleep(0.001)
        return answer

    async def read(self, session: str) -> str:
        """Read the events of a session, to the end."""
        query = {"session_hash": session}
        return (await self.client.get("gradio_api/queue/data", params=query)).text


@pytest.fixture
async def served(anyio_backend: str) -> AsyncIterator[Served]:
    """Yield a Blocks that is served during a test."""

    def echo(text: str) -> str:
        return text

    kept = Kept()
    with ServedBlocks(kept.unread, "echo") as blocks:
        api(echo, api_name="echo")
    app = App.create_app(blocks)
    keep_less(app, blocks)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        blocks._queue.start()
        try:
            yield Served(blocks, client, kept)
        finally:
            blocks._queue.close()
            await asyncio.sleep(0.1)  # until its loops have looked


async def test_a_session_is_answered_and_leaves_nothing(served: Served) -> None:
    assert (await served.join("a", "ä")).status_code == 200
    told = [json.loads(line[6:]) for line in (await served.read("a")).split("\n\n") if line]
    assert [each["msg"] for each in told][-2:] == ["process_completed", "close_stream"]
    assert told[-2]["success"] and told[-2]["output"]["data"] == ["ä"]
    assert served.kept.unread.size_bytes == 0
    served.kept.clock.now += UNREAD_SECONDS
    served.kept.unread.sweep()
    assert served.queue.pending_messages_per_session == {}
    assert served.queue.pending_event_ids_session == {}
    assert len(served.queue.event_analytics) == 1


async def test_who_comes_too_late_is_told_so(served: Served) -> None:
    await served.join("late")
    served.kept.clock.now += UNREAD_SECONDS
    served.kept.unread.sweep()
    told = await served.read("late")
    assert '"msg":"unexpected_error"' in told and "process_completed" not in told
    await served.join("late")  # and may ask again
    assert '"msg":"process_completed"' in await served.read("late")


async def test_a_session_that_is_forgotten_while_it_is_answered_ends(served: Served) -> None:
    queue = served.queue
    session = "a"
    queue.pending_messages_per_session[session] = asyncio.Queue()
    event = Event(session, queue.blocks.fns[0], Request({"type": "http"}), None)
    queue.pending_event_ids_session[session] = {event._id}
    queue.event_ids_to_events[event._id] = event
    queue.pending_messages_per_session[session].put_nowait(completed())
    served.kept.clock.now += UNREAD_SECONDS
    served.kept.unread.sweep()
    assert not event.alive
    queue.send_message(event, completed())  # without a word
    assert queue.pending_event_ids_session[session] == set(), "a reader may be at it"
    del queue.pending_messages_per_session[session]  # by a reader who has gone meanwhile
    queue.event_ids_to_events.clear()


async def test_a_session_has_to_read_before_it_asks_more(served: Served) -> None:
    joined = [(await served.join("a")).status_code for _ in range(PLACES + 2)]
    assert joined == [200] * PLACES + [503] * 2
    assert (await served.join("b")).status_code == 200
    assert (await served.read("a")).count('"process_completed"') == PLACES
    assert (await served.join("a")).status_code == 200


async def test_calls_beside_the_queue_are_closed(served: Served) -> None:
    for path in ("run", "api"):
        answer = await served.client.post(f"gradio_api/{path}/echo", json={"data": ["x"]})
        assert answer.status_code == 404


async def test_a_session_holds_neither_what_is_asked_nor_what_is_answered(served: Served) -> None:
    secret = "a pasted log " * 1_000
    await served.join("a", secret)
    assert secret in await served.read("a")
    session = served.sessions.session_data["a"]
    assert isinstance(served.sessions, Sessions)
    assert list(session.components) == [] and len(session.config_values) == 0
    assert session.blocks_config.fns.keys() == served.queue.blocks.fns.keys()
