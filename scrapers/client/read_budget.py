"""ReadBudget: the remaining time and bytes for reading one model."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from gpusizer.core.errors import HubUnreachable, LimitsExceeded
from gpusizer.hub.tensors import TensorGroup
from scrapers.limits import Limits


class ReadBudget:
    """Deadline and budgets of one model, shared by the threads that read it."""

    def __init__(
        self, repo_id: str, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.repo_id = repo_id
        self.limits = limits
        self._used: Counter[str] = Counter()
        self._patterns: set[tuple[object, ...]] = set()
        self._clock = clock
        self._deadline = clock() + limits.model_seconds
        self._lock = threading.Lock()
        self._abandoned = threading.Event()

    def deadline_after(self, seconds: float | None) -> float:
        """Return the earlier of the model's deadline and `seconds` from now, as a clock value."""
        return self._deadline if seconds is None else min(self._deadline, self._clock() + seconds)

    def seconds_left(self, deadline: float | None = None) -> float:
        """Return the seconds until the model's deadline, or until one of `deadline_after`.

        Raises HubUnreachable ("timeout") once it has passed.
        """
        remaining_seconds = (self._deadline if deadline is None else deadline) - self._clock()
        if remaining_seconds <= 0 or self._abandoned.is_set():
            raise HubUnreachable(repo_id=self.repo_id, reason="timeout")
        return remaining_seconds

    @property
    def bytes_read(self) -> int:
        """Bytes of response bodies received so far, after decompression."""
        return self._used["total_bytes"]

    def abandon(self) -> None:
        """Make the threads that still read this model raise HubUnreachable at their next step."""
        self._abandoned.set()

    def pause(self, seconds: float) -> None:
        """Sleep until `seconds` have passed or the budget is abandoned."""
        self._abandoned.wait(seconds)

    def count(self, limit: str, amount: int) -> None:
        """Count `amount` towards a limit of the whole model, by the name of its attribute.

        Limits are "total_bytes" of bodies, "config_memory_bytes" (the values of configurations,
        which last as long as the snapshot) and "tensors". Raises LimitsExceeded.
        """
        with self._lock:
            self._used[limit] += amount
            used = self._used[limit]
        if used > getattr(self.limits, limit):
            raise self.exceeded(limit)

    def count_groups(self, groups: Iterable[TensorGroup], counted: int = 0) -> None:
        """Count the tensors and patterns of parsed groups; `counted` tensors are counted already.

        Raises LimitsExceeded ("tensors", "tensor_groups").
        """
        groups = tuple(groups)
        self.count("tensors", max(sum(group.count for group in groups) - counted, 0))
        with self._lock:
            self._patterns |= {(group.pattern, group.dtype, group.shape) for group in groups}
            patterns = len(self._patterns)
        if patterns > self.limits.tensor_groups:
            raise self.exceeded("tensor_groups")

    def exceeded(self, limit: str) -> LimitsExceeded:
        """Return the error for a limit, given by the name of its attribute."""
        allowed = getattr(self.limits, limit)
        return LimitsExceeded(repo_id=self.repo_id, limit=limit, allowed=allowed)
