"""SpentSeconds: the processor time that each visitor has used within the last minute."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW_SECONDS = 60.0
# time kept as one entry: a visitor has at most 61 entries
_STEP_SECONDS = 1.0


@dataclass(slots=True)
class _Spent:
    """One visitor's seconds with the time they were added, the latest last, and their sum."""

    entries: deque[tuple[float, float]] = field(default_factory=deque)
    seconds: float = 0.0

    def add(self, now: float, seconds: float) -> None:
        self.seconds += seconds
        if self.entries and now - self.entries[-1][0] < _STEP_SECONDS:
            when, before = self.entries.pop()
            self.entries.append((when, before + seconds))
        else:
            self.entries.append((now, seconds))

    def forget(self, until: float) -> None:
        while self.entries and self.entries[0][0] <= until:
            self.seconds -= self.entries.popleft()[1]
        if not self.entries:
            self.seconds = 0.0  # sums of fractions leave a rest


class SpentSeconds:
    """Sums of seconds by visitor within the window. Not safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_visitor: OrderedDict[str, _Spent] = OrderedDict()  # who added last is last

    def __len__(self) -> int:
        """Return the number of visitors that are remembered."""
        return len(self._by_visitor)

    def add(self, visitor: str, seconds: float) -> None:
        """Add seconds that end now."""
        now = self._clock()
        spent = self._by_visitor.setdefault(visitor, _Spent())
        spent.add(now, seconds)
        spent.forget(now - WINDOW_SECONDS)
        self._by_visitor.move_to_end(visitor)
        self._forget()

    def by_visitor(self, visitor: str) -> float:
        """Return the seconds within the last minute."""
        self._forget()
        spent = self._by_visitor.get(visitor)
        if spent is None:
            return 0.0
        spent.forget(self._clock() - WINDOW_SECONDS)
        return spent.seconds

    def seconds_to_wait(self, visitor: str, most: float) -> float | None:
        """Return the seconds until a visitor has used less than `most`, or None if already."""
        left = self.by_visitor(visitor)
        if left < most:
            return None
        for when, seconds in self._by_visitor[visitor].entries:
            left -= seconds
            if left < most:
                return when + WINDOW_SECONDS - self._clock()
        return WINDOW_SECONDS

    def _forget(self) -> None:
        until = self._clock() - WINDOW_SECONDS
        while self._by_visitor:
            visitor, spent = next(iter(self._by_visitor.items()))
            if spent.entries[-1][0] > until:
                return
            del self._by_visitor[visitor]
