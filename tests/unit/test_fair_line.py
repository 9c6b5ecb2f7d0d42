"""Who is next: the line of visitors, and what each has used of the processor within a minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.fair_line import FairLine, Ticket
from gpusizer.core.spent_seconds import SpentSeconds
from tests.clock import Clock


class Room:
    """A line whose admissions are noted by the names of questions."""

    def __init__(self, at_once: int = 1, of_one: int = 2) -> None:
        self.clock = Clock()
        self.spent = SpentSeconds(self.clock)
        self.line = FairLine(at_once, of_one, self.spent.by_visitor)
        self.entered: list[str] = []
        self.tickets: dict[str, Ticket] = {}

    def ask(self, *names: str) -> None:
        """Let questions join the line; a name's first letter is the visitor, "-" is None."""
        for name in names:
            visitor = None if name[0] == "-" else name[0]
            self.tickets[name] = self.line.join(
                visitor, lambda name=name: self.entered.append(name)
            )

    def end(self, name: str, seconds: float = 0.0) -> None:
        """End a question that has used `seconds`."""
        if seconds:
            self.spent.add(name[0], seconds)
        self.line.leave(self.tickets[name])


def test_visitors_take_turns_however_many_questions_each_has() -> None:
    room = Room()
    room.ask("a1", "a2", "a3", "b1", "b2", "c1")
    for number in range(5):
        room.end(room.entered[number], seconds=1.0)
    assert room.entered == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_who_has_used_less_goes_first() -> None:
    room = Room()
    room.spent.add("a", 5.0)
    room.spent.add("b", 1.0)
    room.ask("c1", "a1", "b1", "b2")
    room.end("c1", 9.0)
    room.end("b1", 1.0)
    room.end("b2", 1.0)
    assert room.entered == ["c1", "b1", "b2", "a1"]


def test_few_of_one_visitor_are_inside() -> None:
    room = Room(at_once=4)
    room.ask("a1", "a2", "a3", "b1")
    assert room.entered == ["a1", "a2", "b1"]
    room.ask("-1", "-2")
    assert room.entered[3:] == ["-1"], "the fourth"
    room.end("a1")
    assert room.entered[4:] == ["-2"], "a3 has come first, but one of its visitor's is inside"
    room.end("a2")
    assert room.entered[5:] == ["a3"]


def test_whoever_leaves_the_line_is_not_admitted() -> None:
    room = Room()
    room.ask("a1", "b1", "c1")
    room.end("b1")
    room.end("a1")
    assert room.entered == ["a1", "c1"]


def test_a_ticket_may_wait_since_an_earlier_one() -> None:
    room = Room()
    room.ask("a1", "a2")
    room.line.leave(room.tickets["a1"])
    assert room.entered == ["a1", "a2"]
    room.ask("a3")
    again = room.line.join("a", lambda: room.entered.append("a1"), room.tickets["a1"].number)
    room.end("a2")
    assert room.entered == ["a1", "a2", "a1"] and again.is_inside


def test_a_lighter_visitor_is_another_who_may_enter() -> None:
    room = Room(of_one=1)
    room.spent.add("a", 5.0)
    room.spent.add("b", 4.0)
    room.ask("a1", "a2")
    assert not room.line.has_lighter("a", 5.0), "only its own"
    room.ask("b1")
    assert room.line.has_lighter("a", 5.0)
    assert not room.line.has_lighter("a", 4.0)


costs = st.lists(st.integers(1, 40), min_size=1, max_size=12)


def served(room: Room, questions: Sequence[Sequence[int]], threads: int) -> Iterator[Counter[str]]:
    """Work on every visitor's questions, in tenths of a second, with `threads`.

    Yield the seconds of each visitor whenever a question ends, while all have one that waits.
    """
    cost = {f"{chr(97 + v)}{n}": c for v, own in enumerate(questions) for n, c in enumerate(own)}
    room.ask(*cost)
    ends: dict[str, float] = {}
    given_seconds: Counter[str] = Counter()
    left = Counter(name[0] for name in cost)
    seen, now = 0, 0.0
    while ends or seen < len(room.entered):
        for name in room.entered[seen:]:
            ends[name] = now + cost[name]
            left[name[0]] -= 1
        seen = len(room.entered)
        assert len(ends) <= threads and max(Counter(n[0] for n in ends).values()) <= 2
        name = min(ends, key=ends.__getitem__)
        now = ends.pop(name)
        given_seconds[name[0]] += cost[name]
        room.end(name, cost[name] / 1000)
        if all(left[chr(97 + visitor)] > 0 for visitor in range(len(questions))):
            yield given_seconds
    assert len(room.entered) == len(cost), "every question is answered"


@given(st.lists(costs, min_size=2, max_size=5))
def test_visitors_who_wait_get_the_same_within_one_question(
    questions: list[list[int]],
) -> None:
    longest = max(max(own) for own in questions)
    for given_seconds in served(Room(), questions, threads=1):
        for one, other in combinations(map(chr, range(97, 97 + len(questions))), 2):
            assert abs(given_seconds[one] - given_seconds[other]) <= longest


@given(st.lists(costs, min_size=2, max_size=5), st.integers(2, 6))
def test_with_several_threads_within_the_questions_under_way(
    questions: list[list[int]], threads: int
) -> None:
    """A visitor's running questions, two at most, are not counted yet."""
    longest = max(max(own) for own in questions)
    for given_seconds in served(Room(threads), questions, threads):
        for one, other in combinations(map(chr, range(97, 97 + len(questions))), 2):
            assert abs(given_seconds[one] - given_seconds[other]) <= 3 * longest


@pytest.mark.parametrize("used", [1.0, 30.0, 1000.0])
def test_nobody_waits_longer_than_the_minute_that_is_looked_at(used: float) -> None:
    """New visitors come without end, as fast as they are answered: each has used nothing."""
    room = Room()
    room.spent.add("a", used)
    room.ask("A0", "a1")
    start = room.clock.now
    for number in range(1, 200):
        if "a1" in room.entered:
            break
        room.ask(chr(1000 + number))
        room.clock.now += 1.0
        room.spent.add(room.entered[-1][0], 1.0)
        room.line.leave(room.tickets[room.entered[-1]])
    assert room.entered[-1] == "a1" and room.clock.now - start <= 61


# quarters of a second until a visitor uses some seconds
moves = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 50)), max_size=60)


@given(moves)
def test_seconds_are_those_of_the_last_minute(added: list[tuple[int, int]]) -> None:
    """Seconds within one of each other are kept, and forgotten, together."""
    clock = Clock(0.0)
    spent, all_of_them = SpentSeconds(clock), []
    for quarters, seconds in added:
        clock.now += quarters / 4
        spent.add("a", seconds)
        all_of_them.append((clock.now, seconds))
        within = [sum(s for t, s in all_of_them if t > clock.now - w) for w in (59.0, 60.0)]
        assert within[0] <= spent.by_visitor("a") <= within[1]


@given(moves.filter(bool), st.integers(1, 100))
def test_the_wait_ends_when_less_is_left(added: list[tuple[int, int]], most: int) -> None:
    clock = Clock(0.0)
    spent = SpentSeconds(clock)
    for quarters, seconds in added:
        clock.now += quarters / 4
        spent.add("a", seconds)
    wait = spent.seconds_to_wait("a", most)
    assert (wait is None) == (spent.by_visitor("a") < most)
    if wait is not None:
        assert 0 < wait <= 60
        now = clock.now
        clock.now = now + wait - 0.001
        assert spent.by_visitor("a") >= most
        clock.now = now + wait + 0.001
        assert spent.by_visitor("a") < most


def test_visitors_are_forgotten_after_a_minute() -> None:
    clock = Clock()
    spent = SpentSeconds(clock)
    for number in range(1000):
        spent.add(f"visitor {number}", 0.1)
        clock.now += 0.1
    assert 590 <= len(spent) <= 601
    clock.now += 60.0
    assert (spent.by_visitor("visitor 999"), len(spent)) == (0.0, 0)


def test_a_visitor_has_an_entry_for_each_second() -> None:
    clock = Clock()
    spent = SpentSeconds(clock)
    for _ in range(100_000):
        spent.add("a", 0.001)
        clock.now += 0.01
    entries = spent._by_visitor["a"].entries
    assert len(entries) <= 61
    assert 5.9 <= spent.by_visitor("a") <= 6.0
