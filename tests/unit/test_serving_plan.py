"""Serving plans of real models: the cheapest GPUs, laws, own prices and refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.recommendation import firm_usd_per_hour
from gpusizer.gpus.on_offer import ended_support, why_not_on_offer
from gpusizer.serving.serving_rows import Replicas, ServingPlan
from gpusizer.speed.classes import SERVING
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.documents import written
from tests.nightly import some
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
TARGET = {"requests_per_second": 5, "prompt_tokens": 1000, "answer_tokens": 300, "ttft_ms": 500}


def report(**fields: Any) -> Report:
    return size(embedded_sizer(), {"model": MODEL, "quant": "native", **TARGET, **fields})


def plan(**fields: Any) -> ServingPlan:
    serving_plan = report(**fields).serving_plan
    assert serving_plan is not None
    return serving_plan


def only(**fields: Any) -> Replicas:
    (row,) = plan(**fields).rows
    return row


def test_no_target_no_plan() -> None:
    sized = size(embedded_sizer(), {"model": MODEL, "quant": "native"})
    assert sized.serving_plan is None
    assert "serving_plan" not in written(sized)


@pytest.mark.parametrize("rate", some([0.5, 1, 2, 4, 8], of=5, start=1))
def test_twice_the_load_never_takes_fewer_gpus_of_any_kind(rate: float) -> None:
    target = {"quant": "all", "top": 0, "ttft_ms": 1000}
    once = {row.gpu.slug: row for row in plan(**target, requests_per_second=rate).rows}
    for row in plan(**target, requests_per_second=2 * rate).rows:
        before = once[row.gpu.slug]
        assert before.total_boards <= row.total_boards or before.tight > row.tight, row.gpu.slug


def test_what_hardly_fits_one_machine_is_spread_over_two() -> None:
    """Eight H100 hold Kimi K2 in 4 bits for a user or two each: 16 of them serve many in 8 bits."""
    kimi = {"model": "moonshotai/Kimi-K2-Instruct-0905", "gpu": "h100-sxm-80gb"}
    (row,) = plan(**kimi, quant="all", ttft_ms=None).rows
    assert row.machines_per_replica == 2 and row.estimate.engine.abilities.joins_machines
    alone = plan(**kimi, quant="all", ttft_ms=None, gpu_count=8).rows
    assert not alone or alone[0].total_boards > row.total_boards


def test_the_cheapest_hour_comes_first_and_meets_the_target() -> None:
    rows = plan(top=0).rows
    places = [
        (
            *row.place[:5],
            ended_support(row.gpu) is not None,
            why_not_on_offer(row.gpu, row.costs.today) != "",
            firm_usd_per_hour(row.gpu, row.costs)[0] or math.inf,
        )
        for row in rows
    ]
    assert places == sorted(places) and len(rows) > 20
    assert not any(places[0][:7]) and any(any(place[5:7]) for place in places)
    assert not rows[0].risky
    for row in rows:
        likely, low, high = row.ttft_seconds
        assert low <= likely <= row.ttft_late_seconds <= 0.5
        assert high is None or high >= likely
        assert row.low_replicas <= row.replicas <= (row.high_replicas or row.replicas)
        assert 0 < row.users <= row.most_users


def test_users_follow_from_the_rate() -> None:
    """Little's law: the first token and 299 more at the speed of each, so often a second."""
    row = only(gpu="h100 sxm")
    seconds = row.ttft_seconds[0] + (TARGET["answer_tokens"] - 1) / row.user_tokens_per_second
    assert row.users == pytest.approx(5 / row.replicas * seconds, rel=0.02)
    assert row.costs.tokens_per_second == 1500
    assert row.costs.boards == row.total_boards


@pytest.mark.parametrize(
    ("gpu", "field", "values"),
    [
        *((gpu, "requests_per_second", (1, 5, 25, 125)) for gpu in ("4090", "a100 pcie", "mi300x")),
        ("h100 sxm", "prompt_tokens", (100, 1000, 4000, 16_000)),
    ],
)
def test_more_work_never_needs_fewer_gpus(gpu: str, field: str, values: tuple[int, ...]) -> None:
    counts = [only(**{"gpu": gpu, field: value}).total_boards for value in values]
    assert counts == sorted(counts) and counts[-1] > counts[0]


def test_more_requests_never_cost_less() -> None:
    hours = [
        plan(requests_per_second=r, top=1).rows[0].costs.lowest_usd_per_hour for r in (1, 2, 64)
    ]
    assert None not in hours and hours == sorted(hours)  # type: ignore[type-var]


def test_a_load_runs_under_an_engine_for_servers() -> None:
    """An engine of one user is planned with where a card has no other."""
    rows = plan(gpu="4090, m3 max 128gb", ttft_ms=5000, quant=None).rows
    families = {row.gpu.slug: row.estimate.engine.abilities.speed_family for row in rows}
    assert families["rtx-4090-24gb"] == SERVING != families["apple-m3-max-128gb"]


def test_a_stricter_percentile_never_needs_fewer_gpus() -> None:
    load = {"gpu": "a100 pcie 80gb", "requests_per_second": 40, "ttft_ms": 250}
    rows = [only(**load, ttft_percentile=share) for share in (50, 95, 99)]
    counts = [row.total_boards for row in rows]
    assert counts == sorted(counts) and counts[-1] > counts[0]
    assert all(row.ttft_late_seconds <= 0.25 for row in rows)


def test_a_busier_time_takes_the_gpus_of_its_rate_and_costs_more_for_each_token() -> None:
    load = {"gpu": "h100 sxm", "requests_per_second": 40}
    even, peak = only(**load), only(**load, peak_to_mean=3)
    assert peak.total_boards == only(gpu="h100 sxm", requests_per_second=120).total_boards
    assert peak.total_boards > even.total_boards
    assert even.tokens is not None and peak.tokens is not None
    ratio = peak.tokens.usd_per_million / even.tokens.usd_per_million
    assert ratio == pytest.approx(peak.total_boards / even.total_boards, rel=0.02)


def test_tokens_of_prompts_and_answers_pay_the_hour_together() -> None:
    row = only(gpu="h100 sxm")
    prices, hour = row.tokens, row.costs.lowest_usd_per_hour
    assert prices is not None and hour is not None
    paid = 1000 * prices.usd_per_million_in + 300 * prices.usd_per_million_out
    assert paid * 5 * 3600 / 1e6 == pytest.approx(hour, rel=0.02)
    assert prices.usd_per_million_in < prices.usd_per_million < prices.usd_per_million_out


def test_a_shared_prefix_is_read_once() -> None:
    load = {"gpu": "h100 sxm", "requests_per_second": 60, "prompt_tokens": 4000}
    whole, shared = only(**load), only(**load, shared_prefix_tokens=3500)
    assert shared.total_boards < whole.total_boards
    with pytest.raises(InvalidRequest) as refusal:
        only(**load, shared_prefix_tokens=4000)
    assert refusal.value.fields["field"] == "shared_prefix_tokens"


@pytest.mark.parametrize(("usd", "code"), [(1000, "plan_api_dearer"), (0, "plan_api_cheaper")])
def test_an_api_is_set_beside_the_cheapest_row(usd: float, code: str) -> None:
    beside = plan(gpu="h100 sxm", api_usd_per_million=usd)
    (note,) = (note for note in beside.notes if note.code.startswith("plan_api"))
    assert note.code == code
    assert beside.rows[0].tokens is not None
    assert note.fields["usd"] == beside.rows[0].tokens.usd_per_million


def test_a_later_first_token_never_needs_more_gpus() -> None:
    counts = [only(gpu="a100 pcie 80gb", ttft_ms=ms).total_boards for ms in (250, 500, 5000)]
    assert counts == sorted(counts, reverse=True)


def test_a_count_with_the_name_is_that_of_a_replica() -> None:
    row = only(gpu="2xa100 pcie 80gb", requests_per_second=50)
    assert row.boards == 2 and row.total_boards == 2 * row.replicas


def test_what_other_programs_hold_is_not_planned_with() -> None:
    """Each replica of Qwen3-8B has a cache smaller by what is not free."""
    whole, part = (only(gpu=name, gpu_count=1) for name in ("4090", "4090 (20 GB free)"))
    assert part.most_users < whole.most_users
    assert not plan(gpu="4090 (8 GB free)", gpu_count=1).rows


def test_every_named_gpu_is_planned_with() -> None:
    """One product with different counts or free memory, and two cards described by one size."""
    twice = plan(gpu="2xa100 pcie 80gb, 4xa100 pcie 80gb").rows
    assert sorted(row.boards for row in twice) == [2, 4]
    free = plan(gpu="h100 sxm, h100 sxm (40 GB free), t4", ttft_ms=100)
    assert [row.total_boards for row in free.rows] == sorted(r.total_boards for r in free.rows)
    assert len(free.rows) == 2
    described = plan(gpu="custom:48GB@900GB/s@100TFLOPS, custom:48GB@500GB/s@100TFLOPS").rows
    assert len(described) == 2
    late = plan(gpu="t4, t4", ttft_ms=20).notes
    assert [note.fields["count"] for note in late if "count" in note.fields] == [2]


def test_the_limits_are_of_all_replicas_together() -> None:
    costs = {row.gpu.slug: row.costs.rent_usd_per_hour for row in plan(top=0).rows}
    limited = plan(top=0, max_usd_per_hour=5).rows
    rents = {row.gpu.slug: row.costs.rent_usd_per_hour for row in limited}
    assert rents and all(usd is not None and usd <= 5 for usd in rents.values())
    assert rents.keys() == {slug for slug, usd in costs.items() if usd is not None and usd <= 5}


def test_layers_in_system_memory_have_no_plan() -> None:
    """The time of a step there is unknown, as for the speeds of a ranking."""
    part = plan(gpu="4090", engine="llama.cpp", quant="q4_k_m", gpu_layers=5)
    assert not part.rows
    assert "plan_speed_unknown" in {note.code for note in part.notes}


def test_an_unreachable_first_token_is_said() -> None:
    late = plan(gpu="t4", ttft_ms=20)
    assert not late.rows
    assert {note.code for note in late.notes} >= {"plan_first_token_too_late"}


@pytest.mark.parametrize(
    ("stated", "lengths"),
    [
        ({}, (1000, 300)),
        ({"context": 1000}, (750, 250)),
        ({"prompt_tokens": 4000}, (4000, 4192)),
        ({"answer_tokens": 192}, (8000, 192)),
        ({"shared_prefix_tokens": 2000}, (3000, 300)),
    ],
)
def test_open_lengths_at_a_rate_are_usual_ones(
    stated: dict[str, int], lengths: tuple[int, int]
) -> None:
    """Requests that fill their context would cost ten times; what is stated shares it."""
    open_lengths = {"prompt_tokens": None, "answer_tokens": None, "gpu": "h100 sxm"}
    target = plan(**{**open_lengths, **stated}).target
    assert (target.prompt_tokens, target.answer_tokens) == lengths


def test_lengths_left_open_share_out_what_the_model_has() -> None:
    """GPT-2 ends at 1,024 tokens, before the context of a request that states none."""
    open_lengths = {"prompt_tokens": None, "answer_tokens": None, "ttft_ms": None}
    target = plan(model="openai-community/gpt2", gpu="4090", **open_lengths).target
    assert (target.prompt_tokens, target.answer_tokens) == (768, 256)


@pytest.mark.parametrize("field", ["prompt_tokens", "answer_tokens"])
def test_a_length_that_takes_the_context_is_refused(field: str) -> None:
    """3,999 of 4,000 tokens leave one to the other length, 4,000 leave none."""
    open_lengths = {"prompt_tokens": None, "answer_tokens": None, "context": 4000}
    target = plan(**{**open_lengths, field: 3999}, gpu="h100 sxm").target
    assert target.context == 4000
    with pytest.raises(InvalidRequest) as refusal:
        plan(**{**open_lengths, field: 4000})
    assert (refusal.value.fields["field"], refusal.value.fields["context"]) == (field, 4000)


def test_a_target_without_a_rate_is_said_to_have_no_effect() -> None:
    for field in ("prompt_tokens", "answer_tokens", "ttft_ms"):
        sized = size(embedded_sizer(), {"model": MODEL, "quant": "native", field: 100})
        assert "target_needs_a_rate" in {note.code for note in sized.notes}


def test_a_sequence_beyond_the_context_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        plan(prompt_tokens=40_000, answer_tokens=1000)
    assert refusal.value.fields["field"] == "prompt_tokens"
    assert refusal.value.fields["reason"] == "beyond_the_context"


def test_a_model_without_text_has_no_plan() -> None:
    encoder = plan(model="BAAI/bge-small-en-v1.5", prompt_tokens=100, answer_tokens=100)
    assert [note.code for note in encoder.notes] == ["plan_needs_text"]


def test_own_prices_count_for_named_gpus_alone() -> None:
    own = report(gpu="h100 sxm", gpu_usd=20_000, gpu_usd_per_hour=1.5)
    assert own.serving_plan is not None
    (row,) = own.serving_plan.rows
    assert row.costs.buy_usd == 20_000 * row.total_boards
    price = written(own)["ranking"][0]["price"]
    assert (price["buy_usd"], price["buy_basis"], price["rent_usd_per_hour"]) == (
        20_000,
        "own",
        1.5,
    )
    assert price["rent_is_own"] is True
    ranked = report(gpu_usd=20_000, top=5)
    assert "own_prices_need_a_gpu" in {note.code for note in ranked.notes}
    assert all(item.costs.buy is None or item.costs.buy.basis != "own" for item in ranked.ranking)


def test_the_first_rows_are_those_of_all() -> None:
    """Boards that are kept back from many users are weighed only where others are too few."""
    few, every = plan(top=6), plan(top=0)
    told = [
        [(row.gpu.slug, row.total_boards, row.estimate.quant.slug) for row in rows]
        for rows in (few.rows, every.rows[:6])
    ]
    assert told[0] == told[1] and len(told[0]) == 6
    kept_back = [row.place[0] for row in every.rows]
    assert not any(kept_back[:6]) and any(kept_back)
    assert kept_back == sorted(kept_back)


@pytest.mark.parametrize("rate", [0.1, 40])
def test_a_plan_for_the_slow_end_says_how_few_may_do(rate: float) -> None:
    asked = report(gpu="l40s", requests_per_second=rate)
    assert asked.serving_plan is not None
    (row,) = asked.serving_plan.rows
    said = [n.fields for n in asked.conclusion.weighed if n.code == "answer_plan_fewer"]
    fewest = row.low_replicas * row.boards
    assert said == ([{"fewest": fewest, "boards": row.total_boards}] if rate > 1 else [])
    assert (fewest < row.total_boards) == (rate > 1)
