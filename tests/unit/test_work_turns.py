"""WorkTurns: readings leave their turn to those that compute, and are bounded themselves."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpusizer.core.errors import ServerBusy
from gpusizer.core.work_turns import WorkTurns
from scrapers.single_flight import SingleFlight


def test_a_reading_lets_others_compute() -> None:
    turns, is_reading, is_read = WorkTurns(1, 1), threading.Event(), threading.Event()

    def read() -> str:
        with turns.computing():
            with turns.reading():
                is_reading.set()
                assert is_read.wait(30)
            return "read"

    def compute() -> str:
        with turns.computing():
            return "computed"

    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(read)
        assert is_reading.wait(30)
        assert pool.submit(compute).result(30) == "computed"
        is_read.set()
        assert reading.result(30) == "read"


def test_so_many_compute_at_a_time() -> None:
    turns, running, peaks = WorkTurns(2, 1), [], []

    def compute(_: int) -> None:
        with turns.computing(), turns.computing():
            running.append(1)
            peaks.append(len(running))
            threading.Event().wait(0.01)
            running.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(compute, range(24)))
    assert max(peaks) == 2


def test_more_readings_than_may_are_refused_and_give_back_what_they_held() -> None:
    turns, is_reading, is_read = WorkTurns(2, 1), threading.Event(), threading.Event()

    def read() -> None:
        with turns.computing(), turns.reading():
            is_reading.set()
            assert is_read.wait(30)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(read)
        assert is_reading.wait(30)
        for _ in range(5):
            with pytest.raises(ServerBusy), turns.computing(), turns.reading():
                pytest.fail("one too many")
        is_read.set()
        first.result(30)
    with turns.computing(), turns.reading():
        pass


def test_a_failed_reading_takes_its_turn_back() -> None:
    turns = WorkTurns(1, 1)
    for _ in range(3):
        with pytest.raises(ValueError, match="wrong"), turns.computing(), turns.reading():
            raise ValueError("wrong")
    with turns.computing():
        pass


def test_work_without_a_turn_is_not_counted() -> None:
    turns = WorkTurns(1, 1)
    with turns.reading(), turns.reading(), turns.reading():
        pass


def test_a_flight_that_may_not_begin_fails_for_all_and_may_be_tried_again() -> None:
    turns, full = WorkTurns(1, 1), threading.Event()
    flights = SingleFlight[str, str](lambda key: key.upper(), waiting=turns.reading)

    def fill() -> None:
        with turns.computing(), turns.reading():
            full.set()
            assert release.wait(30)

    release = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(fill)
        assert full.wait(30)
        with pytest.raises(ServerBusy), turns.computing():
            flights("a")
        release.set()
        first.result(30)
    with turns.computing():
        assert flights("a") == flights("a") == "A"
