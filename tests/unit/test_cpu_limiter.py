"""CpuLimiter: who computes, who reads, who gives way, and whose processor time it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from gpusizer.core import time_budget
from gpusizer.core.cpu_limiter import WAITING, CpuLimiter
from gpusizer.core.errors import ServerBusy
from gpusizer.core.time_budget import TimeBudget
from scrapers.cache.single_flight import SingleFlight
from tests.clock import Clock
from tests.visitors import PATIENCE_SECONDS, Crowd, crowd


class Processor(threading.local):
    """The processor time of each thread, which the thread itself moves on."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Turns(CpuLimiter):
    """Turns by clocks that a test sets."""

    def __init__(self, computing: int, reading: int = 1) -> None:
        self.clock, self.processor = Clock(), Processor()
        super().__init__(computing, reading, clock=self.clock, processor=self.processor)

    def use(self, seconds: float) -> None:
        """Compute for so long."""
        self.processor.seconds += seconds
        self.clock.now += seconds


@pytest.fixture
def visitors() -> Iterator[Crowd]:
    with crowd() as visitors:
        yield visitors


def test_a_reading_lets_others_compute(visitors: Crowd) -> None:
    turns, is_reading, is_read = CpuLimiter(1, 1), visitors.gate(), visitors.gate()

    def read() -> str:
        with turns.computing():
            with turns.reading():
                is_reading.set()
                assert is_read.wait(PATIENCE_SECONDS)
            return "read"

    def compute() -> str:
        with turns.computing():
            return "computed"

    reading = visitors.work(None, read)
    assert is_reading.wait(PATIENCE_SECONDS)
    assert visitors.work(None, compute).result(PATIENCE_SECONDS) == "computed"
    is_read.set()
    assert reading.result(PATIENCE_SECONDS) == "read"


def most_at_once(turns: CpuLimiter, visitors: Crowd, names: list[str | None]) -> int:
    """How many of these visitors' answers are worked on at the same time."""
    running, peaks = [], []

    def compute() -> None:
        with turns.computing(), turns.computing():
            running.append(1)
            peaks.append(len(running))
            time.sleep(0.01)
            running.pop()

    for work in [visitors.work(name, compute) for name in names]:
        work.result(PATIENCE_SECONDS)
    return max(peaks)


def test_so_many_compute_at_a_time(visitors: Crowd) -> None:
    assert most_at_once(CpuLimiter(2, 1), visitors, [None] * 24) == 2
    assert most_at_once(CpuLimiter(3, 1), visitors, [*"abcdefgh"] * 3) == 3


def test_two_of_one_visitor_compute_at_a_time(visitors: Crowd) -> None:
    assert most_at_once(CpuLimiter(8, 1), visitors, ["a"] * 24) == 2
    assert most_at_once(CpuLimiter(8, 1), visitors, [*"ab"] * 12) == 4


def hasty(computing: int, reading: int, waiting: int = WAITING) -> CpuLimiter:
    """Return turns of threads that wait for no place."""
    return CpuLimiter(computing, reading, waiting, patience_seconds=0.0)


def test_who_finds_no_place_to_read_waits_while_readings_end(visitors: Crowd) -> None:
    turns = CpuLimiter(4, reading=1, patience_seconds=PATIENCE_SECONDS)
    begun, may_end = [visitors.gate() for _ in range(4)], [visitors.gate() for _ in range(4)]

    def read(number: int) -> int:
        with turns.computing(), turns.reading():
            begun[number].set()
            assert may_end[number].wait(PATIENCE_SECONDS)
        return number

    reading = [visitors.work(None, partial(read, number)) for number in range(4)]
    for gate in may_end:
        assert sum(one.is_set() for one in begun) <= 1 + sum(one.is_set() for one in may_end)
        gate.set()
    assert [each.result(PATIENCE_SECONDS) for each in reading] == [0, 1, 2, 3]


@pytest.mark.parametrize("patience_seconds", [0.0, 0.05])
def test_more_readings_than_may_are_refused_and_give_back_what_they_held(
    visitors: Crowd, patience_seconds: float
) -> None:
    """At once, or once no reading has ended for as long as a thread has patience."""
    turns = CpuLimiter(2, reading=1, patience_seconds=patience_seconds)
    is_reading, is_read = visitors.gate(), visitors.gate()

    def read() -> None:
        with turns.computing(), turns.reading():
            is_reading.set()
            assert is_read.wait(PATIENCE_SECONDS)

    first = visitors.work(None, read)
    assert is_reading.wait(PATIENCE_SECONDS)
    for _ in range(5):
        with pytest.raises(ServerBusy), turns.computing(), turns.reading():
            pytest.fail("one too many")
    is_read.set()
    first.result(PATIENCE_SECONDS)
    with turns.computing(), turns.reading():
        pass


def test_a_failed_reading_takes_its_turn_back() -> None:
    turns = CpuLimiter(1, 1)
    for _ in range(3):
        with pytest.raises(ValueError, match="wrong"), turns.computing(), turns.reading():
            raise ValueError("wrong")
    with turns.computing():
        pass


def test_who_looks_into_a_cache_leaves_the_turn_and_takes_no_place(visitors: Crowd) -> None:
    turns = hasty(1, 1)

    def read() -> str:
        with turns.computing(), turns.reading():
            return "read"

    with turns.computing(), turns.looking_up():
        assert visitors.work(None, read).result(PATIENCE_SECONDS) == "read", "both are free"
        with turns.reading(), pytest.raises(ServerBusy):
            visitors.work(None, read).result(PATIENCE_SECONDS)
        assert visitors.work(None, read).result(PATIENCE_SECONDS) == "read", "free again"


class Flown:
    """A model whose reading ends when the test says so."""

    def __init__(self, turns: CpuLimiter, visitors: Crowd) -> None:
        self.turns = turns
        self.has_begun, self.may_land = visitors.gate(), visitors.gate()
        self.flights = SingleFlight[str, str](
            self._read, computing=turns.reading, waiting=turns.waiting
        )

    def _read(self, key: str) -> str:
        self.has_begun.set()
        assert self.may_land.wait(PATIENCE_SECONDS)
        return key.upper()

    def ask(self, key: str) -> str:
        with self.turns.computing():
            return self.flights(key)


def test_those_who_wait_for_one_model_are_one_reading(visitors: Crowd) -> None:
    flown = Flown(hasty(2, reading=1, waiting=9), visitors)
    answers = [visitors.work(None, lambda: flown.ask("a"))]
    assert flown.has_begun.wait(PATIENCE_SECONDS)
    answers += [visitors.work(None, lambda: flown.ask("a")) for _ in range(8)]
    with pytest.raises(ServerBusy):
        flown.ask("b")
    flown.may_land.set()
    assert [answer.result(PATIENCE_SECONDS) for answer in answers] == ["A"] * 9


def test_no_more_threads_wait_than_may(visitors: Crowd) -> None:
    flown = Flown(hasty(2, reading=9, waiting=1), visitors)
    answer = visitors.work(None, lambda: flown.ask("a"))
    assert flown.has_begun.wait(PATIENCE_SECONDS)
    for key in ("a", "b"):
        with pytest.raises(ServerBusy):
            flown.ask(key)
    flown.may_land.set()
    assert answer.result(PATIENCE_SECONDS) == "A"
    assert flown.ask("b") == "B"


def test_a_flight_that_may_not_begin_fails_for_all_and_may_be_tried_again(visitors: Crowd) -> None:
    turns, full, release = hasty(1, 1), visitors.gate(), visitors.gate()
    flights = SingleFlight[str, str](lambda key: key.upper(), computing=turns.reading)

    def fill() -> None:
        with turns.computing(), turns.reading():
            full.set()
            assert release.wait(PATIENCE_SECONDS)

    first = visitors.work(None, fill)
    assert full.wait(PATIENCE_SECONDS)
    with pytest.raises(ServerBusy), turns.computing():
        flights("a")
    assert flights.known("a") is None
    release.set()
    first.result(PATIENCE_SECONDS)
    with turns.computing():
        assert flights("a") == flights("a") == flights.known("a") == "A"


def test_processor_time_is_its_visitors(visitors: Crowd) -> None:
    """Time of parsing in the reading's own thread counts as well."""
    turns = Turns(2)

    def compute() -> None:
        turns.use(1.0)
        with turns.computing():
            turns.use(2.0)
            with turns.reading():
                turns.use(0.5)
            turns.use(0.25)
        turns.use(1.0)

    for name in ("a", "a", "b", None):
        visitors.work(name, compute).result(PATIENCE_SECONDS)
    assert (turns.spent("a"), turns.spent("b"), turns.spent("c")) == (5.5, 2.75, 0.0)
    assert turns.seconds_to_wait("a", 6) is None
    # Both have ended: 2 and 0.75 seconds of the first are forgotten after a minute.
    assert 0 < (turns.seconds_to_wait("a", 5) or 0) < 60
    turns.clock.now += 60.0
    assert turns.spent("a") == 0.0


def test_budgets_of_answers_give_way(visitors: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, done, begun = Turns(1), visitors.gate(), visitors.gate()
    monkeypatch.setattr(time_budget, "CPU_LIMITER", turns)

    def answer() -> None:
        budget = TimeBudget(1.0, lambda: 0.0)
        with turns.computing():
            begun.set()
            while not done.is_set():
                turns.use(0.2)
                budget.check("org/model")

    def short() -> None:
        with turns.computing():
            done.set()

    long = visitors.work("heavy", answer)
    assert begun.wait(PATIENCE_SECONDS)
    visitors.work("light", short).result(PATIENCE_SECONDS)
    long.result(PATIENCE_SECONDS)


def waiting(turns: Turns, number: int) -> None:
    """Wait until `number` wait for a turn."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(turns._line._waiting) < number:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize(
    ("own", "other", "used_before", "uses", "gives"),
    [
        ("own", "other", 0.0, 0.3, True),
        ("own", "other", 0.0, 0.05, False),  # a turn is kept for a moment
        ("own", "other", 0.25, 0.3, False),  # has used about as much
        ("own", "other", 9.0, 0.3, False),
        ("own", "own", 0.0, 0.3, False),  # a visitor's own questions wait for each other
        (None, "other", 0.0, 9.0, False),  # work that is no visitor's
        (None, None, 0.0, 9.0, False),
    ],
)
def test_who_gives_way_to_whom(
    visitors: Crowd,
    own: str | None,
    other: str | None,
    used_before: float,
    uses: float,
    gives: bool,
) -> None:
    turns, entered, begun = Turns(1), visitors.gate(), visitors.gate()

    def before() -> None:
        with turns.computing():
            turns.use(used_before)

    def compute() -> bool:
        with turns.computing():
            begun.set()
            waiting(turns, 1)
            turns.use(uses)
            turns.give_way()
            return entered.is_set()

    def follow() -> None:
        with turns.computing():
            entered.set()

    visitors.work(other, before).result(PATIENCE_SECONDS)
    first = visitors.work(own, compute)
    assert begun.wait(PATIENCE_SECONDS)
    second = visitors.work(other, follow)
    assert first.result(PATIENCE_SECONDS) is gives
    second.result(PATIENCE_SECONDS)
