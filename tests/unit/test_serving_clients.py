"""Clients of load tests in the simulation of a server, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.measurements import Row
from bench.served_answers import first_token_of, is_median, version_of
from gpusizer.serving.server import Server
from gpusizer.serving.simulation import Client, mean, percentile, simulated
from tests.servers import server

NOTHING = dict.fromkeys(
    ("dense", "cache", "product", "attention", "launches", "sequence", "request"), 0.0
)


def of_one_second(**fields: Any) -> Server:
    """Every step takes a second and holds one prompt of 100 tokens; answers have three tokens."""
    return replace(server(100, 3, step_tokens=102, **NOTHING, host=1.0), **fields)


def test_users_who_start_at_once_wait_for_each_others_prompts() -> None:
    """Two users, two requests: prompts are read in the 1st and 2nd second. The first user is
    answered after the 3rd and comes back: read in the 4th; the second after the 4th, in the 5th."""
    sample = simulated(of_one_second(), 2, None, Client("at_once", 4))
    assert sample is not None
    assert sample.ttft == (1.0, 1.0, 1.0, 2.0)
    assert sample.requests_per_second == pytest.approx(4 / 7)


def test_a_step_ahead_a_prompt_joins_the_step_after_the_next() -> None:
    """Who comes back between two steps finds the next one planned while another answer goes on."""
    sample = simulated(of_one_second(ahead=True), 2, None, Client("at_once", 4))
    assert sample is not None
    assert mean(sample.ttft) == pytest.approx((1 + 2 + 2 + 2) / 4)


def test_no_more_requests_are_in_flight_than_there_are_users() -> None:
    """A hundred a second, one at a time: each is alone, and takes three seconds."""
    sample = simulated(of_one_second(), 1, 100.0, Client("at_a_rate", 5))
    assert sample is not None
    assert sample.ttft == pytest.approx((1.0,) * 5)
    assert sample.e2e == pytest.approx((3.0,) * 5)


def test_lengths_are_shares_of_the_means() -> None:
    """Prompts of 100 and 200 tokens, which are two steps, and answers of three tokens and six."""
    client = Client("at_once", 2, ((1.0, 1.0), (2.0, 2.0)))
    sample = simulated(of_one_second(), 1, None, client)
    assert sample is not None
    assert sample.ttft == (1.0, 2.0)
    assert sample.e2e == (3.0, 7.0)


def test_a_first_round_is_in_the_mean_and_hardly_in_the_median() -> None:
    """Ten users at once wait for 5.5 s on average, and later for 1 s, as answers end one by one."""
    one = of_one_second(answer=40)
    one = replace(one, scheduler=replace(one.scheduler, step_tokens=110))
    sample = simulated(one, 10, None, Client("at_once", 100))
    assert sample is not None
    assert percentile(sample.ttft, 0.5) == 1.0
    assert mean(sample.ttft) == pytest.approx(1 + 4.5 / 10)


def row(**measured: float) -> Row:
    return {"arrival": "closed_loop", "measured": measured}


def test_a_mean_of_stalls_gives_way_to_the_median() -> None:
    stalled = row(ttft_seconds=1.0, ttft_p50_seconds=0.3)
    usual = row(ttft_seconds=0.8, ttft_p50_seconds=0.3)
    assert is_median(stalled) and first_token_of(stalled) == 0.3
    assert not is_median(usual) and first_token_of(usual) == 0.8
    assert first_token_of(row(ttft_p50_seconds=0.2)) == 0.2


@pytest.mark.parametrize(
    ("date", "stated", "release"),
    [
        ("2024-07", "NIM (mid 2024)", "0.15.0"),
        ("2025", "NIM 1.8.0", None),
        ("2024", "0.9.0", "0.9.0"),
    ],
)
def test_a_number_of_nims_is_none_of_the_engine(
    date: str, stated: str, release: str | None
) -> None:
    run = {"engine": "tensorrt-llm", "engine_version": stated, "date": date}
    assert version_of(run) == release
