"""SingleFlight: cached results, failures that are not cached, one computation for many callers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrapers.single_flight import SingleFlight


def test_results_are_cached_for_a_while() -> None:
    now, computed_keys = [0.0], list[str]()
    single_flight = SingleFlight[str, int](
        lambda key: computed_keys.append(key) or len(computed_keys), clock=lambda: now[0]
    )
    assert (single_flight("a"), single_flight("a"), single_flight("b")) == (1, 1, 2)
    now[0] = 599.0
    assert single_flight("a") == 1
    now[0] = 600.0
    assert single_flight("a") == 3


def test_the_least_recently_used_result_is_dropped() -> None:
    computed_keys = list[str]()
    single_flight = SingleFlight[str, int](
        lambda key: computed_keys.append(key) or len(computed_keys), entries=2
    )
    for key in "abaca":
        single_flight(key)
    assert computed_keys == ["a", "b", "c"]
    single_flight("b")
    assert computed_keys == ["a", "b", "c", "b"]


def test_failures_are_not_cached() -> None:
    outcomes = [ValueError("first"), None]

    def compute(key: str) -> str:
        error = outcomes.pop(0)
        if error:
            raise error
        return key

    single_flight = SingleFlight[str, str](compute)
    with pytest.raises(ValueError, match="first"):
        single_flight("a")
    assert single_flight("a") == "a"


def test_simultaneous_calls_share_one_computation() -> None:
    started, release, calls = threading.Event(), threading.Event(), list[str]()

    def compute(key: str) -> str:
        calls.append(key)
        started.set()
        assert release.wait(5)
        return key.upper()

    single_flight = SingleFlight[str, str](compute)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(single_flight, "a")
        assert started.wait(5)
        others = [pool.submit(single_flight, "a") for _ in range(7)]
        release.set()
        assert {future.result(5) for future in (first, *others)} == {"A"}
    assert calls == ["a"]


def test_the_least_recently_used_results_go_when_all_are_too_large() -> None:
    computed_keys = list[str]()
    single_flight = SingleFlight[str, str](
        lambda key: computed_keys.append(key) or key, weigh=len, max_bytes=10
    )
    for key in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb"):
        single_flight(key)
    assert computed_keys == ["aaaa", "bbbb", "cccc", "bbbb"]


def test_a_result_larger_than_the_bound_stays_until_the_next() -> None:
    computed_keys = list[str]()
    single_flight = SingleFlight[str, str](
        lambda key: computed_keys.append(key) or key, weigh=len, max_bytes=3
    )
    for key in ("large", "large", "a", "large"):
        single_flight(key)
    assert computed_keys == ["large", "a", "large"]


def test_an_expired_result_gives_its_room_back() -> None:
    now, computed_keys = [0.0], list[str]()
    single_flight = SingleFlight[str, str](
        lambda key: computed_keys.append(key) or key,
        weigh=len,
        max_bytes=2,
        clock=lambda: now[0],
    )
    single_flight("a")
    now[0] = 600.0
    for key in "aba":
        single_flight(key)
    assert computed_keys == ["a", "a", "b"]
