"""TimeBudget: the processor time that answering one request may take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpusizer.core.errors import LimitsExceeded
from gpusizer.core.work_turns import TURNS

ANSWER_SECONDS = 4
"""The longest honest answers, of rankings over a whole shelf of models, take about one second."""
_OWN_SECONDS = 60


class TimeBudget:
    """Processor time of the thread that answers, so that neither waiting nor neighbours count.

    A stranger's repository may be within every limit of size and still be laid out so that sums
    over it take long. Whatever computes in a loop asks `check` at its head, where it also gives way
    to others' shorter work.
    """

    def __init__(
        self, seconds: float = ANSWER_SECONDS, clock: Callable[[], float] = time.thread_time
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        # No thread computes longer than the time that passes, which is a hundred times as quick to
        # read as the thread's own.
        measures_thread = clock is time.thread_time
        self._unspent_until = time.monotonic() + seconds if measures_thread else -math.inf

    def check(self, repo_id: str) -> None:
        """Raises LimitsExceeded ("answer_seconds") once the time is spent."""
        TURNS.give_way()
        if time.monotonic() < self._unspent_until:
            return
        if self._clock() > self._end:
            reason = "answer_seconds"
            raise LimitsExceeded(
                repo_id=repo_id, limit=reason, allowed=self._seconds, reason=reason
            )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Reading a repository does not count: it has limits of its own."""
        since = self._clock()
        try:
            yield
        finally:
            self._end += self._clock() - since


def own_budget() -> TimeBudget:
    """The time of a command's answer: nobody else waits for this machine, which may be slow."""
    return TimeBudget(_OWN_SECONDS)
