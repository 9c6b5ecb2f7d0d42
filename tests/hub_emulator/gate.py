"""Gate answers requests in waves, so that simultaneous requests overlap on any machine."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import accumulate

PATIENCE_SECONDS = 10.0  #


class Gate:
    """Holds every request of a wave until as many as were announced have arrived."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ends: tuple[int, ...] = ()
        self._arrived = 0

    def announce(self, waves: Iterable[int]) -> None:
        """Set the number of requests of each wave; requests after the last wave do not wait."""
        with self._changed:
            self._ends, self._arrived = tuple(accumulate(waves)), 0
            self._changed.notify_all()

    def wait(self) -> None:
        """Return once the wave of this request is complete."""
        with self._changed:
            ends, self._arrived = self._ends, self._arrived + 1
            end = next((end for end in ends if self._arrived <= end), 0)
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._arrived >= end or self._ends is not ends, PATIENCE_SECONDS
            )
