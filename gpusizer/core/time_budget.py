"""TimeBudget: the processor time that answering one request may take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpusizer.core.cpu_limiter import CPU_LIMITER
from gpusizer.core.errors import LimitsExceeded

# Limit of an answer; the longest honest ones, over a whole shelf of models, take about 1 s.
ANSWER_SECONDS = 4
_OWN_SECONDS = 60


class TimeBudget:
    """Processor time of the answering thread, without waiting or other threads."""

    def __init__(
        self, seconds: float = ANSWER_SECONDS, clock: Callable[[], float] = time.thread_time
    ) -> None:
        # A stranger's repository may be within every limit of size and still make sums over it take
        # long. Loops call `check` at their head, where they also give way to others' shorter work.
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        # No thread computes longer than the time that passes, which is a hundred times as quick to
        # read as the thread's own.
        measures_thread = clock is time.thread_time
        self._unspent_until = time.monotonic() + seconds if measures_thread else -math.inf

    def of_seconds(self, seconds: float) -> TimeBudget:
        """Return another budget from now on, on the same clock."""
        return TimeBudget(seconds, self._clock)

    def check(self, repo_id: str) -> None:
        """Raise LimitsExceeded ("answer_seconds") once the time is spent."""
        CPU_LIMITER.give_way()
        if time.monotonic() < self._unspent_until:
            return
        if self._clock() > self._end:
            reason = "answer_seconds"
            raise LimitsExceeded(
                repo_id=repo_id, limit=reason, allowed=self._seconds, reason=reason
            )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the count while reading a repository, which has limits of its own."""
        since = self._clock()
        try:
            yield
        finally:
            self._end += self._clock() - since


def own_budget() -> TimeBudget:
    """Return the budget of a command's answer on the user's own machine, which may be slow."""
    return TimeBudget(_OWN_SECONDS)
