"""Recent: kept results, forgotten failures, one computation for many."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrapers.recent import Recent


def test_kept_for_a_while() -> None:
    now, asked = [0.0], list[str]()
    recent = Recent[str, int](lambda key: asked.append(key) or len(asked), clock=lambda: now[0])
    assert (recent("a"), recent("a"), recent("b")) == (1, 1, 2)
    now[0] = 599.0
    assert recent("a") == 1
    now[0] = 600.0
    assert recent("a") == 3


def test_the_longest_unused_is_dropped() -> None:
    asked = list[str]()
    recent = Recent[str, int](lambda key: asked.append(key) or len(asked), entries=2)
    for key in "abaca":
        recent(key)
    assert asked == ["a", "b", "c"]
    recent("b")
    assert asked == ["a", "b", "c", "b"]


def test_failures_are_not_kept() -> None:
    outcomes = [ValueError("first"), None]

    def compute(key: str) -> str:
        error = outcomes.pop(0)
        if error:
            raise error
        return key

    recent = Recent[str, str](compute)
    with pytest.raises(ValueError, match="first"):
        recent("a")
    assert recent("a") == "a"


def test_simultaneous_questions_share_one_computation() -> None:
    started, release, calls = threading.Event(), threading.Event(), list[str]()

    def compute(key: str) -> str:
        calls.append(key)
        started.set()
        assert release.wait(5)
        return key.upper()

    recent = Recent[str, str](compute)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(recent, "a")
        assert started.wait(5)
        others = [pool.submit(recent, "a") for _ in range(7)]
        release.set()
        assert {future.result(5) for future in (first, *others)} == {"A"}
    assert calls == ["a"]
