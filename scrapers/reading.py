"""Reading: the time and the bytes that one model may still cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpusizer.errors import HubUnreachable, LimitsExceeded
from scrapers.limits import Limits


class Reading:
    """Deadline and byte budget of one model, shared by the threads that read it.

    Attributes:
        requests: HTTP requests sent so far, redirects and retries included.
        bytes_read: bytes of answer bodies received so far, decompressed.
    """

    def __init__(
        self, repo_id: str, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.repo_id = repo_id
        self.limits = limits
        self.requests = 0
        self.bytes_read = 0
        self._clock = clock
        self._deadline = clock() + limits.model_seconds
        self._lock = threading.Lock()
        self._abandoned = threading.Event()

    def now(self) -> float:
        """This moment, in seconds of the clock that `until` is measured with."""
        return self._clock()

    def seconds_left(self, until: float | None = None) -> float:
        """Seconds until the deadline, or until an earlier moment.

        Raises HubUnreachable ("timeout") once it has passed.
        """
        deadline = self._deadline if until is None else min(self._deadline, until)
        left = deadline - self._clock()
        if left <= 0 or self._abandoned.is_set():
            raise HubUnreachable(repo_id=self.repo_id, reason="timeout")
        return left

    def abandon(self) -> None:
        """Let the threads that still read for this model stop at their next step."""
        self._abandoned.set()

    def pause(self, seconds: float) -> None:
        """Sleep, but not past the abandonment."""
        self._abandoned.wait(seconds)

    def count_request(self) -> None:
        """Count one request."""
        with self._lock:
            self.requests += 1

    def count_bytes(self, count: int) -> None:
        """Count bytes of a body. Raises LimitsExceeded when the model has cost too many."""
        with self._lock:
            self.bytes_read += count
            spent = self.bytes_read
        if spent > self.limits.total_bytes:
            raise self.exceeded("total_bytes")

    def exceeded(self, limit: str) -> LimitsExceeded:
        """The error of running out of one of the limits, given by its attribute's name."""
        allowed = getattr(self.limits, limit)
        return LimitsExceeded(repo_id=self.repo_id, limit=limit, allowed=allowed)
