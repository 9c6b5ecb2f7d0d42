"""FairLine: a queue that admits light users before heavy ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count


@dataclass(slots=True, eq=False)
class Ticket:
    """A position in the line, or inside it."""

    visitor: str | None  # work of no visitor counts as if it had used nothing
    admit: Callable[[], None]  # called once, on admission
    number: int  # lower for earlier tickets
    is_inside: bool = False


class FairLine:
    """Queue that admits `at_once` tickets, and `of_one` of one visitor. Not thread-safe."""

    def __init__(self, at_once: int, of_one: int, used: Callable[[str], float]) -> None:
        # Next is a ticket of the visitor who has used the least by `used`; among equals, of the one
        # with fewer tickets inside; then the oldest ticket.
        self._free = at_once
        self._of_one = of_one
        self._used = used
        self._inside: Counter[str] = Counter()
        self._waiting: list[Ticket] = []
        self._numbers = count()

    def join(
        self, visitor: str | None, admit: Callable[[], None], number: int | None = None
    ) -> Ticket:
        """Wait from now on, or since an earlier ticket if its `number` is given."""
        number = next(self._numbers) if number is None else number
        ticket = Ticket(visitor, admit, number)
        self._waiting.append(ticket)
        self._admit()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Give up a position in the line, or leave one inside to the next ticket."""
        if not ticket.is_inside:
            self._waiting.remove(ticket)
            return
        self._free += 1
        if ticket.visitor is not None:
            self._inside[ticket.visitor] -= 1
            if not self._inside[ticket.visitor]:
                del self._inside[ticket.visitor]
        self._admit()

    def has_lighter(self, visitor: str, than: float) -> bool:
        """Return whether a visitor who used less than `than` seconds could enter instead."""
        return any(
            ticket.visitor != visitor and self._used_by(ticket) < than
            for ticket in self._waiting
            if self._may_enter(ticket)
        )

    def _admit(self) -> None:
        while self._free:
            ready = [ticket for ticket in self._waiting if self._may_enter(ticket)]
            if not ready:
                return
            ticket = min(ready, key=self._rank)
            self._waiting.remove(ticket)
            self._free -= 1
            ticket.is_inside = True
            if ticket.visitor is not None:
                self._inside[ticket.visitor] += 1
            ticket.admit()

    def _may_enter(self, ticket: Ticket) -> bool:
        return ticket.visitor is None or self._inside[ticket.visitor] < self._of_one

    def _rank(self, ticket: Ticket) -> tuple[float, int, int]:
        inside = 0 if ticket.visitor is None else self._inside[ticket.visitor]
        return self._used_by(ticket), inside, ticket.number

    def _used_by(self, ticket: Ticket) -> float:
        return 0.0 if ticket.visitor is None else self._used(ticket.visitor)
