"""Requests at random times: the most that a rank answers, and that every part agrees on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.serving import replicas
from gpusizer.serving.facts import Scheduler
from gpusizer.serving.replicas import Promise, pace_of, sustained_load
from gpusizer.serving.server import Server
from gpusizer.serving.simulation import simulated
from gpusizer.serving.steady import limit_of, most_at_random, random_arrivals
from tests.servers import server

SERVERS = st.builds(
    server,
    prompt=st.integers(16, 6000),
    answer=st.integers(1, 2000),
    order=st.sampled_from(("mixed", "prompts_first")),
    step_tokens=st.sampled_from((512, 2048, 8192)),
    most=st.integers(1, 512),
)
SHARES = st.floats(0.01, 1.0)
NOTHING = dict.fromkeys(("dense", "cache", "product", "attention", "launches", "sequence"), 0.0)


def one_second_steps(**fields: Any) -> Server:
    """Return a server each of whose steps takes a second, whatever is in it."""
    usual = server(100, 10, step_tokens=200, **NOTHING, host=1.0, request=0.0)
    return replace(usual, **fields)


def test_the_limit_is_where_answers_end_as_fast_as_prompts_are_read() -> None:
    """d sequences end d / 10 answers a second; steps have 200 - d tokens for prompts of 100, which
    may take 0.98 of the time: d / 10 = 0.98 x (200 - d) / 100, d = 1.96 / 0.1098 = 17.851.

    All 100 that are admitted would fill the steps: 200 / 11 = 18.18 decode, and 1.7818 are read.
    """
    limit, state = limit_of(one_second_steps(most=100))
    assert limit == pytest.approx(1.7851, rel=1e-3) and limit > 1.7818
    assert state.decoding == pytest.approx(17.851, rel=1e-3)


def test_a_rank_that_admits_few_is_limited_by_them() -> None:
    """Ten sequences end an answer a second, of 1.862 whose prompts would be read."""
    limit, state = limit_of(one_second_steps(most=10))
    assert (limit, state.decoding) == (pytest.approx(1.0), 10)


def test_a_load_between_both_limits_is_borne() -> None:
    """1.783 a second are more than are read where steps are full, and less than are answered."""
    one = one_second_steps(most=100)
    state = random_arrivals(one, 1.783)
    assert state is not None and state.decoding == pytest.approx(17.83, rel=1e-3)
    promise = Promise(1.783, None, 0.95)
    bears = sustained_load(one, promise)
    assert bears is not None and bears.replicas(1.783) == 1
    assert pace_of(one, promise, 1).users == pytest.approx(state.users)


def test_pieces_of_a_long_prompt_pass_at_once() -> None:
    """1,000 tokens in steps of 200 take five seconds, each of the nine tokens behind the first
    another; ten million tokens, each in a step of its own, are read to the end as well."""
    sample = simulated(one_second_steps(prompt=1000), 1, None)
    assert sample is not None
    assert (sample.ttft[0], sample.ttft[-1]) == (pytest.approx(5.0), pytest.approx(5.0))
    assert (sample.each[0], sample.each[-1]) == (pytest.approx(1.0), pytest.approx(1.0))
    endless = one_second_steps(prompt=10_000_000, scheduler=Scheduler("mixed", "middle", 1, 1, 0))
    for order in ("mixed", "prompts_first"):
        scheduler = replace(endless.scheduler, order=order)
        read = simulated(replace(endless, scheduler=scheduler, most=1), 1, None)
        assert read is not None and read.ttft[-1] == pytest.approx(1e7)


def test_what_takes_too_long_to_simulate_is_told_by_the_closed_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For a server like an H100 at half of its limit."""
    one = server()
    limit, _ = limit_of(one)
    simulated_late = pace_of(one, Promise(limit / 2, None, 0.95), 1).ttft_late_seconds
    monkeypatch.setattr(replicas, "simulated", lambda *_: None)
    told = pace_of(one, Promise(limit / 2, None, 0.95), 1)
    assert told.ttft_seconds[0] < told.ttft_late_seconds == pytest.approx(simulated_late, rel=0.5)
    promise = Promise(limit / 2, told.ttft_late_seconds, 0.95)
    assert replicas.replicas_in_time(one, promise, 1) == 1
    assert replicas.replicas_in_time(one, replace(promise, ttft_seconds=1e-3), 1) is None
    assert replicas.replicas_in_time(one, replace(promise, requests_per_second=1e9), 1) is None


@given(one=SERVERS, share=st.floats(0.5, 0.999), slack=st.none() | st.floats(1.0, 50.0))
def test_what_a_rank_bears_is_accepted(one: Server, share: float, slack: float | None) -> None:
    """The rate of every state that is found, and of replicas that share a load by it."""
    idle = random_arrivals(one, 1e-9)
    assert idle is not None
    target = None if slack is None else slack * idle.ttft
    state = most_at_random(one, target, share)
    if state is None:
        return
    rate = state.requests_per_second(one.steps)
    assert random_arrivals(one, rate) is not None
    bears = sustained_load(one, Promise(50.0, target, share))
    assert bears is not None
    assert random_arrivals(one, 50.0 / bears.replicas(50.0)) is not None


@given(one=SERVERS, shares=st.tuples(SHARES, SHARES))
def test_fewer_requests_are_accepted_with_no_more_users(
    one: Server, shares: tuple[float, float]
) -> None:
    limit, full = limit_of(one)
    few, many = (random_arrivals(one, share * limit) for share in sorted(shares))
    assert few is not None and many is not None
    assert few.users <= many.users * 1.001 and few.decoding <= many.decoding * 1.001
    assert many.decoding <= full.decoding


@given(one=SERVERS, beyond=st.floats(1e-6, 10.0))
def test_more_than_the_limit_is_refused(one: Server, beyond: float) -> None:
    limit, _ = limit_of(one)
    assert random_arrivals(one, limit) is not None
    assert random_arrivals(one, limit * (1 + beyond)) is None


@given(one=SERVERS, shares=st.tuples(*[st.floats(0.5, 0.999)] * 2))
def test_who_has_to_find_room_more_often_finds_it_with_fewer_users(
    one: Server, shares: tuple[float, float]
) -> None:
    often, always = (most_at_random(one, None, share) for share in sorted(shares))
    if always is not None:
        assert often is not None
        assert always.users <= often.users * 1.001
