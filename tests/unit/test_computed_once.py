"""gpusizer.core.computed_once: one computation for each object, and no lock between objects."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from gpusizer.core.computed_once import computed_once


@dataclass(frozen=True)
class Slow:
    begun: threading.Event
    goes_on: threading.Event
    computed: list[int] = field(default_factory=list)

    @computed_once
    def value(self) -> int:
        """Return 7, once it may go on."""
        self.computed.append(7)
        self.begun.set()
        assert self.goes_on.wait(60)
        return 7


def test_a_value_is_computed_when_it_is_first_read() -> None:
    free = threading.Event()
    free.set()
    slow = Slow(threading.Event(), free)
    assert slow.computed == []
    assert (slow.value, slow.value) == (7, 7)
    assert slow.computed == [7]


def test_an_object_that_computes_keeps_no_other_waiting() -> None:
    held, free = threading.Event(), threading.Event()
    first, second = Slow(threading.Event(), held), Slow(threading.Event(), free)
    free.set()
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert first.begun.wait(60)
    other = threading.Thread(target=lambda: second.value)
    other.start()
    other.join(60)
    assert second.computed == [7] and not other.is_alive()
    held.set()
    thread.join(60)
