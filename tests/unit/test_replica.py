"""A replica under a stream of requests: figures by hand, and laws of its arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.fit.speed.rate import RateBand
from gpusizer.fit.speed.replica import ReplicaPace, replicas_for, users_at, users_borne


def pace(
    *,
    base: float = 0.02,
    each: float = 0.0,
    prompt: float = 0.1,
    lanes: int = 1,
    answer: int = 100,
    most: int = 64,
) -> ReplicaPace:
    """Steps of `base` seconds and `each` more for every user."""
    return ReplicaPace(lambda users: base + each * users, prompt, lanes, answer, most)


PACES = st.builds(
    pace,
    base=st.floats(0.001, 0.1),
    each=st.floats(0, 0.005),
    prompt=st.floats(0.001, 2),
    lanes=st.integers(1, 4),
    answer=st.integers(1, 1000),
    most=st.integers(1, 256),
)


def test_figures_by_hand() -> None:
    """Four users, prompts of 0.1 s, answers of 100 steps of 20 ms: 4 / (4 x 0.1 + 2) = 1.667
    requests a second, busy reading for a sixth of the time, and a wait of
    (1/6) x 0.1 / (2 x 5/6) = 0.01 s."""
    replica = pace()
    assert replica.requests_per_second(4) == pytest.approx(4 / 2.4)
    assert replica.first_token_seconds(4) == pytest.approx(0.01 + 0.1 + 0.02)
    assert replica.user_tokens_per_second(4) == pytest.approx(100 / 2.4)


def test_the_first_token_limits_users() -> None:
    """At 130 ms, as above, four users are borne; at 120 ms nobody is."""
    assert users_borne(pace(), 0.13) == pytest.approx(4)
    assert users_borne(pace(), 0.12) == 0
    assert users_borne(pace(), None) == 64
    assert users_borne(pace(most=2), 0.13) == 2


def test_replicas_are_rounded_up() -> None:
    """Each bears 1.667 requests a second."""
    assert replicas_for(pace(), 1.6, 0.13) == 1
    assert replicas_for(pace(), 10.0, 0.13) == 6
    assert replicas_for(pace(), 10.1, 0.13) == 7
    assert replicas_for(pace(), 1.0, 0.119) is None


def test_lanes_read_side_by_side() -> None:
    """Two lanes: 4 / (4 x 0.05 + 2)."""
    assert pace(lanes=2).requests_per_second(4) == pytest.approx(4 / 2.2)


def test_no_room_serves_nobody() -> None:
    assert users_borne(pace(most=0), None) == 0
    assert replicas_for(pace(most=0), 1.0, None) is None
    assert users_at(pace(most=0), 1.0) is None


def test_slow_ends_divide_the_speeds() -> None:
    slow = pace().at_speeds(RateBand(0.5, 2.0), RateBand(0.25, 4.0), "low")
    assert slow.step(3) == pytest.approx(0.04)
    assert slow.prompt_seconds == pytest.approx(0.4)


@given(PACES, st.floats(0.1, 0.99))
def test_littles_law(replica: ReplicaPace, share: float) -> None:
    """Users in flight are the rate times the time that one of them takes, the wait for other
    prompts included: r x answer x step / (1 - busy)."""
    rate = share * replica.requests_per_second(replica.most_users)
    users = users_at(replica, rate)
    assert users is not None
    busy = rate * replica.prompt_seconds / replica.lanes
    turn = replica.answer * replica.step(max(1.0, users)) / (1 - busy)
    assert users == pytest.approx(rate * turn, rel=1e-3)


@given(PACES, st.floats(0.01, 100), st.floats(1, 10), st.none() | st.floats(0.01, 5))
def test_more_requests_never_need_fewer_replicas(
    replica: ReplicaPace, rate: float, factor: float, ttft: float | None
) -> None:
    few, many = (replicas_for(replica, rate * times, ttft) for times in (1, factor))
    assert (few is None) == (many is None)
    if few is not None and many is not None:
        assert many >= few


@given(PACES, st.floats(0.01, 100), st.floats(0.01, 5))
def test_the_load_of_the_replicas_is_in_time(
    replica: ReplicaPace, rate: float, ttft: float
) -> None:
    replicas = replicas_for(replica, rate, ttft)
    if replicas is not None:
        users = users_at(replica, rate / replicas)
        assert users is not None
        assert replica.first_token_seconds(users) <= ttft * 1.0001
