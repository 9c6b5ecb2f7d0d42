"""ReadBudget: the time and the bytes that reading one model may still cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpusizer.core.errors import HubUnreachable, LimitsExceeded
from scrapers.json_files import memory_bytes
from scrapers.limits import Limits


class ReadBudget:
    """Deadline and byte budget of one model, shared by the threads that read it.

    Attributes:
        bytes_read: bytes of answer bodies received so far, decompressed.
    """

    def __init__(
        self, repo_id: str, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.repo_id = repo_id
        self.limits = limits
        self.bytes_read = 0
        self._config_bytes = 0
        self._clock = clock
        self._deadline = clock() + limits.model_seconds
        self._lock = threading.Lock()
        self._abandoned = threading.Event()

    def deadline_after(self, seconds: float | None) -> float:
        """The model's deadline, or the moment so many seconds from now if that is earlier."""
        return self._deadline if seconds is None else min(self._deadline, self._clock() + seconds)

    def seconds_left(self, deadline: float | None = None) -> float:
        """Seconds until the model's deadline, or until a deadline of `deadline_after`.

        Raises HubUnreachable ("timeout") once it has passed.
        """
        left = (self._deadline if deadline is None else deadline) - self._clock()
        if left <= 0 or self._abandoned.is_set():
            raise HubUnreachable(repo_id=self.repo_id, reason="timeout")
        return left

    def abandon(self) -> None:
        """Let the threads that still read for this model stop at their next step."""
        self._abandoned.set()

    def pause(self, seconds: float) -> None:
        """Sleep, but not past the abandonment."""
        self._abandoned.wait(seconds)

    def count_bytes(self, count: int) -> None:
        """Count bytes of a body. Raises LimitsExceeded when the model has cost too many."""
        with self._lock:
            self.bytes_read += count
            spent = self.bytes_read
        if spent > self.limits.total_bytes:
            raise self.exceeded("total_bytes")

    def count_config(self, body: bytes) -> None:
        """Count what a configuration takes in memory, which is kept as long as its model.

        Raises LimitsExceeded when those of the model take too much together.
        """
        with self._lock:
            self._config_bytes += memory_bytes(body)
            spent = self._config_bytes
        if spent > self.limits.config_memory_bytes:
            raise self.exceeded("config_memory_bytes")

    def exceeded(self, limit: str) -> LimitsExceeded:
        """The error of running out of one of the limits, given by its attribute's name."""
        allowed = getattr(self.limits, limit)
        return LimitsExceeded(repo_id=self.repo_id, limit=limit, allowed=allowed)
