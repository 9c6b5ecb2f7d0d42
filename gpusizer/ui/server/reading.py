"""Results of listeners as values, and the steps of reading a model that they show meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import Generic, TypeVar

from markupsafe import Markup

from gpusizer.core.cpu_limiter import CPU_LIMITER
from gpusizer.core.errors import GpusizerError
from gpusizer.hub.reading_steps import OnStep, ReadingStep
from gpusizer.ui.presenters.pieces.frame import status_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.work_pool import held_by

Answer = TypeVar("Answer")

RANKED = 60  # rows of a ranking or list on the page

_log = logging.getLogger(__name__)


def attempt(answer: Callable[[], Answer]) -> Answer | GpusizerError:
    """Call `answer` and return its result or its error.

    Any other exception is logged, and returned as a GpusizerError without a cause.
    """
    try:
        with CPU_LIMITER.computing():
            return answer()
    except GpusizerError as error:
        return error
    except Exception:
        _log.exception("unexpected failure")
        return GpusizerError()


class Reading(Generic[Answer]):
    """Runs `answer`, which reports its steps, in a thread of its own.

    Iterating starts it and yields the last step of each name, in order, at every report; it ends
    with the answer. A listener that is stopped earlier leaves the thread behind: Gradio stops it in
    the event loop, which may not wait. The thread holds its visitor's place, so that a visitor who
    has left counts until it ends.
    """

    def __init__(self, answer: Callable[[OnStep], Answer]) -> None:
        self._answer = answer
        self._future: Future[Answer] = Future()

    def __iter__(self) -> Iterator[tuple[ReadingStep, ...]]:
        """Run, and yield the steps so far."""
        steps: SimpleQueue[ReadingStep | None] = SimpleQueue()
        by_name: dict[str, ReadingStep] = {}
        pool = ThreadPoolExecutor(1, "answer")
        self._future = pool.submit(copy_context().run, self._answer, steps.put)
        pool.shutdown(wait=False)
        held_by(self._future)
        self._future.add_done_callback(lambda _: steps.put(None))
        for step in iter(steps.get, None):
            by_name[step.name] = step
            yield tuple(by_name.values())

    @property
    def result(self) -> Answer:
        """The answer, once the iteration has ended; raises the error of `answer`."""
        return self._future.result()


def told(reading: Reading[Answer], model: str, words: Words) -> Iterator[Markup]:
    """Run `reading`; yield the status "reading" at once, and again with each step of it."""
    yield status_html(model, (), words)
    for steps in reading:
        yield status_html(model, steps, words)
