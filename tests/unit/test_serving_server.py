"""The model of a server: steps, steady states, and the simulation beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.serving.facts import Order
from gpusizer.serving.replicas import Promise, replicas_in_time, sustained_load
from gpusizer.serving.simulation import load_test_of, mean, percentile, simulated
from gpusizer.serving.steady import (
    AT_ONCE,
    SPREAD,
    STATIC,
    closed_loop,
    limit_of,
    load_test,
    most_at_random,
    random_arrivals,
)
from tests.servers import server

ORDERS = st.sampled_from(("mixed", "prompts_first"))
USERS = st.integers(1, 600)
LENGTHS = st.integers(16, 6000)


@given(users=USERS, prompt=LENGTHS, answer=LENGTHS, order=ORDERS)
def test_users_are_rate_times_stay(users: int, prompt: int, answer: int, order: Order) -> None:
    """Little's law, also where users wait for admission or for their prompts."""
    state = closed_loop(server(prompt, answer, order=order), users)
    stay = state.ttft + (answer - 1) * state.step_seconds
    assert state.users == users
    assert state.requests_per_second(answer) * stay == pytest.approx(users)
    assert state.decoding <= 256 + 1e-9
    assert state.ttft >= state.queue >= 0


@given(users=st.integers(1, 599), prompt=LENGTHS, answer=LENGTHS, order=ORDERS)
def test_more_users_get_no_fewer_tokens_in_all_and_each_waits_no_less(
    users: int, prompt: int, answer: int, order: Order
) -> None:
    one = server(prompt, answer, order=order)
    few, more = closed_loop(one, users, SPREAD), closed_loop(one, users + 1, SPREAD)
    assert more.requests_per_second(answer) >= few.requests_per_second(answer) * 0.97
    assert more.step_seconds >= few.step_seconds * 0.97


@settings(max_examples=40, deadline=None)
@given(
    users=st.integers(1, 200),
    prompt=st.integers(16, 4000),
    answer=st.integers(64, 1500),
    order=ORDERS,
)
def test_the_simulation_agrees_with_the_closed_form(
    users: int, prompt: int, answer: int, order: Order
) -> None:
    """Rates and times of each token; first tokens where prompts leave steps room.

    Engines that read prompts first gather short prompts of short answers into one step, which
    the closed form follows less closely.
    """
    exact = order == "mixed"
    if not exact:
        prompt, answer = max(prompt, 512), max(answer, 128)
    one = server(prompt, answer, order=order)
    state, sample = closed_loop(one, users, SPREAD), simulated(one, users, None)
    assert sample is not None
    rate = state.requests_per_second(answer)
    assert sample.requests_per_second == pytest.approx(rate, rel=0.15 if exact else 0.3)
    if exact or state.prompts < 0.5:
        assert mean(sample.each) == pytest.approx(state.step_seconds, rel=0.2 if exact else 0.4)
    if exact and prompt <= 1024 and state.prompts < 0.2:
        assert mean(sample.ttft) == pytest.approx(state.ttft, rel=0.5)


@settings(max_examples=25, deadline=None)
@given(share=st.floats(0.05, 0.6), prompt=st.integers(64, 2000), answer=st.integers(64, 600))
def test_random_arrivals_agree_with_their_simulation(
    share: float, prompt: int, answer: int
) -> None:
    one = server(prompt, answer)
    rate = share * limit_of(one)[0]
    state, sample = random_arrivals(one, rate), simulated(one, None, rate)
    assert state is not None and sample is not None
    assert sample.requests_per_second == pytest.approx(rate, rel=0.12)
    assert mean(sample.each) == pytest.approx(state.step_seconds, rel=0.2)
    assert mean(sample.ttft) == pytest.approx(state.ttft, rel=0.5)


@settings(max_examples=25, deadline=None)
@given(
    prompt=st.integers(64, 6000),
    answer=st.integers(64, 600),
    most=st.integers(8, 256),
    slack=st.floats(2.0, 20.0),
    order=ORDERS,
)
def test_what_a_rank_bears_in_time_it_bears_in_the_simulation(
    prompt: int, answer: int, most: int, slack: float, order: Order
) -> None:
    """The closed form is near; more replicas are added until their simulation is in time."""
    one = server(prompt, answer, most=most, order=order)
    alone = random_arrivals(one, 1e-4)
    assert alone is not None
    promise = Promise(50.0, slack * alone.ttft, 0.95)
    bears = sustained_load(one, promise)
    assert bears is not None
    count = replicas_in_time(one, promise, bears.replicas(50.0))
    assert count is not None and count <= 1.6 * bears.replicas(50.0) + 1
    sample = simulated(one, None, 50.0 / count)
    assert sample is not None
    assert percentile(sample.ttft, 0.95) <= promise.ttft_seconds
    assert sample.requests_per_second == pytest.approx(50.0 / count, rel=0.15)


@given(prompt=LENGTHS, answer=LENGTHS, most=st.integers(1, 256), order=ORDERS)
def test_users_at_random_times_leave_room_for_their_fluctuations(
    prompt: int, answer: int, most: int, order: Order
) -> None:
    one = server(prompt, answer, most=most, order=order)
    state = most_at_random(one, None, 0.95)
    assert state is not None
    assert state.users + 1.64 * math.sqrt(state.users) <= most
    rate = state.requests_per_second(answer)
    again = random_arrivals(one, rate)
    assert again is not None and again.users == pytest.approx(state.users, rel=0.02)


def test_more_requests_than_are_answered_have_no_steady_state() -> None:
    one = server()
    limit, _ = limit_of(one)
    assert random_arrivals(one, limit * 1.01) is None
    assert random_arrivals(one, limit * 0.5) is not None


def test_a_simulation_is_the_same_every_time() -> None:
    first = simulated(server(), 32, None)
    simulated.cache_clear()
    assert simulated(server(), 32, None) == first


def test_users_beyond_the_pool_wait_and_the_rate_stays() -> None:
    """Twice the users of a full server lengthen the first token alone."""
    full, twice = closed_loop(server(most=64), 64), closed_loop(server(most=64), 128)
    assert twice.step_seconds == pytest.approx(full.step_seconds, rel=0.1)
    assert twice.requests_per_second(256) == pytest.approx(full.requests_per_second(256), rel=0.1)
    stay = full.ttft + 255 * full.step_seconds
    assert twice.queue == pytest.approx(stay, rel=0.2)


def test_prompts_that_fill_every_step_are_the_limit() -> None:
    """8,192 tokens of a step are 4,000 of prompt for each token of the answer: two users decode."""
    long = server(prompt=16_000, answer=4)
    state = closed_loop(long, 200)
    assert state.saturated
    assert state.decoding == pytest.approx(8192 / 4001, rel=0.01)


def test_together_moves_time_from_the_gaps_to_the_first_token() -> None:
    spread, at_once, static = (
        closed_loop(server(), 64, together) for together in (SPREAD, AT_ONCE, STATIC)
    )
    assert spread.ttft < at_once.ttft < static.ttft
    assert spread.step_seconds > at_once.step_seconds > static.step_seconds
    rates = [state.requests_per_second(256) for state in (spread, at_once, static)]
    assert max(rates) / min(rates) < 1.2


@given(users=USERS, prompt=LENGTHS, answer=LENGTHS, order=ORDERS, alike=st.booleans())
def test_users_of_a_load_test_are_rate_times_stay(
    users: int, prompt: int, answer: int, order: Order, alike: bool
) -> None:
    """Little's law, whichever share of the requests came all at once."""
    state = load_test(server(prompt, answer, order=order), users, 10, alike)
    stay = state.ttft + (answer - 1) * state.step_seconds
    assert state.users == users
    assert state.requests_per_second(answer) * stay == pytest.approx(users)
    assert state.ttft >= state.queue >= 0


def test_the_first_of_ten_requests_comes_with_everybody() -> None:
    """A tenth of the mean is that of the start, where answers of many lengths spread users."""
    one, many = server(), 64
    start, later = closed_loop(one, many, AT_ONCE), closed_loop(one, many, SPREAD)
    test = load_test(one, many, 10, alike=False)
    assert test.ttft == pytest.approx(0.1 * start.ttft + 0.9 * later.ttft)
    assert load_test(one, many, math.inf, alike=False).ttft == pytest.approx(later.ttft)
    assert load_test(one, many, 1, alike=False).ttft == pytest.approx(start.ttft)


def test_answers_of_one_length_keep_users_together_where_prompts_go_first() -> None:
    first, mixed = server(order="prompts_first"), server()
    group = first.scheduler.step_tokens // first.prompt
    together = closed_loop(first, 64, AT_ONCE, group)
    assert load_test(first, 64).ttft == pytest.approx(together.ttft)
    alike, unlike = load_test(mixed, 64), load_test(mixed, 64, alike=False)
    assert unlike.ttft < alike.ttft < closed_loop(mixed, 64, AT_ONCE).ttft


@pytest.mark.parametrize(
    "order, within",
    [("prompts_first", 0.02), ("mixed", 0.09)],
)
def test_the_steady_state_is_what_a_simulation_of_ten_rounds_finds(
    order: Order, within: float
) -> None:
    """Output of all users, few and many, with launches and a step ahead; in mixed steps users drift
    apart a little, which the closed form does not know."""
    for users, ahead in product((1, 4, 16, 64, 200, 400), (False, True)):
        one = server(order=order, launches=50e-3, ahead=ahead)
        state, sample = load_test(one, users), load_test_of(one, users, None)
        assert sample is not None
        seconds = [
            first + (one.answer - 1) * further
            for first, further in (
                (state.ttft, state.step_seconds),
                (mean(sample.ttft), mean(sample.each)),
            )
        ]
        assert seconds[0] == pytest.approx(seconds[1], rel=within), (users, ahead)


def test_users_whose_answers_end_while_one_is_at_the_door_stand_in_line() -> None:
    """Prompts of twelve users fill a step each, and the door takes two decodes: 1, 2, and ten times
    3 full steps, 2.75 on average, and half of the one that runs."""
    one = replace(server(8192), cache=0.0, sequence=0.0)
    full = math.hypot(6e-3, 8192 * 3e-5) + 8192 * 1e-6 + 2e-3
    slow, quick = replace(one, request=2 * one.step(12)), replace(one, request=0.0)
    assert load_test(slow, 12, math.inf).ttft == pytest.approx(slow.request + 3.25 * full)
    assert load_test(quick, 12, math.inf).ttft == pytest.approx(1.5 * full)


def test_reading_and_products_overlap_in_part() -> None:
    one = server()
    alone = one.step(1)
    assert alone == pytest.approx(8e-3, rel=0.02)
    assert one.step(200) == pytest.approx(
        math.hypot(6e-3, 6e-3) + 200 * 6e-5 + 2e-3 + 200 * 1e-5, rel=1e-6
    )
    assert one.parts(200).seconds == pytest.approx(one.step(200))


def test_a_step_beyond_the_graphs_takes_the_launches_of_its_kernels_where_these_are_longer() -> (
    None
):
    """512 tokens run as graphs; 513 take 50 ms of launches, 8,192 the GPU's 256 ms."""
    one = server(launches=50e-3)
    of_512 = math.hypot(6e-3, 512 * 3e-5) + 512 * 1e-6 + 2e-3
    assert one.step(0, 512) == pytest.approx(of_512)
    assert one.step(1, 511) == pytest.approx(of_512 + 6e-5 + 1e-5 - 1e-6)
    assert one.step(0, 513) == one.step(2, 511) == 50e-3
    assert one.step(0, 8192) == pytest.approx(math.hypot(6e-3, 8192 * 3e-5) + 8192 * 1e-6 + 2e-3)
    quick = replace(one, cache=0.0)
    assert quick.step(600) == pytest.approx(quick.parts(600).seconds)  # decodes alone


def test_experts_are_read_as_tokens_choose_them() -> None:
    """A token takes 8 of 128 experts: one token reads 1/16, 64 tokens 98 %."""
    mixture = replace(server(), dense=0.0, experts=16e-3, unused=1 - 8 / 128, product=0.0)
    idle = mixture.step(1) - mixture.parts(1).host - mixture.cache
    assert idle == pytest.approx(1e-3)
    many = mixture.parts(64).weights
    assert many == pytest.approx(16e-3 * (1 - (15 / 16) ** 64))


def test_percentiles_are_of_the_sorted_values() -> None:
    values = tuple(float(i) for i in range(1, 101))
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.95) == 95
    assert percentile((3.0,), 0.95) == 3.0
