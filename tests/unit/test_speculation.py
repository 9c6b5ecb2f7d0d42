"""Speed with guessed tokens: Leviathan's figures by hand, and laws on real models."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.speed import ModelFacts, Work
from gpusizer.speed.decode import step_seconds
from gpusizer.speed.speculation import (
    Speculation,
    SpeculativeSpeeds,
    expected_tokens,
    pass_seconds,
)
from tests.asking import size
from tests.drafts import EAGLE3, eagle3, fetching
from tests.speed_cases import WORK, card

CARDS = ("4090", "h100 sxm", "mi300x", "2x3090")


def ranked(**fields: Any) -> Any:
    request = {
        "model": "Qwen/Qwen3-8B",
        "quant": "native",
        "engine": "vllm",
        "gpu": "h100 sxm",
        "draft_model": "Qwen/Qwen3-0.6B",
        **fields,
    }
    sized = size(fetching(eagle3()), request)
    return sized, sized.ranking[0]


def speeds(**fields: Any) -> SpeculativeSpeeds:
    speculation: SpeculativeSpeeds = ranked(**fields)[1].speculation
    return speculation


def guess(**fields: Any) -> Speculation:
    sized, item = ranked(**fields)
    estimate = item.fit.estimate
    facts = ModelFacts.from_profile(sized.profile, sized.workload)
    assert facts is not None
    work = Work.from_facts(facts, estimate)
    assert work is not None
    speculation = Speculation.from_estimate(sized.profile, sized.workload, estimate, work)
    assert speculation is not None
    return speculation


def test_expected_tokens_by_hand() -> None:
    """(1 - 0.8^6) / (1 - 0.8) for five guesses, Leviathan's equation 1."""
    assert expected_tokens(0.8, 5) == pytest.approx((1 - 0.8**6) / 0.2)
    assert expected_tokens(0.0, 5) == 1
    assert expected_tokens(1.0, 5) == 6


@given(st.floats(0, 1), st.integers(0, 64))
def test_expected_tokens_lie_between_one_and_all(acceptance: float, guessed: int) -> None:
    assert 1 <= expected_tokens(acceptance, guessed) <= guessed + 1


@pytest.mark.parametrize("gpu", CARDS)
@pytest.mark.parametrize("users", [1, 16])
def test_no_acceptance_is_never_faster(gpu: str, users: int) -> None:
    item = ranked(gpu=gpu, gpu_count=2, acceptance_rate=0, concurrency=users, context=1024)[1]
    assert item.speculation.decode.likely < item.decode.likely
    assert item.speculation.per_user.likely < item.speeds.per_user.likely
    assert item.speculation.speedup < 1 and item.speculation.tokens_per_round == 1


def test_more_acceptance_is_never_slower() -> None:
    rates = [speeds(acceptance_rate=share / 10).decode for share in range(11)]
    likely = [rate.likely for rate in rates if rate is not None]
    assert len(likely) == 11 and likely == sorted(likely) and likely[-1] > likely[0]


def test_a_round_by_hand() -> None:
    """Four steps of the draft, and one of the model over five tokens of each sequence."""
    speculation = guess(draft_tokens=4)
    gpu = ranked()[1].fit.gpu
    step = step_seconds(speculation.draft, gpu, 2)
    judging = pass_seconds(speculation.model, gpu, 2, 5)
    assert step is not None and judging is not None
    assert speculation.round_seconds(gpu, 2) == pytest.approx(4 * step + judging)


@pytest.mark.parametrize("users", [1, 8, 64])
def test_judging_several_tokens_takes_at_least_a_step(users: int) -> None:
    work, gpu = guess().model, ranked()[1].fit.gpu
    passes = [pass_seconds(work, gpu, users, tokens) for tokens in (1, 2, 5, 16)]
    seconds = [value for value in passes if value is not None]
    assert len(seconds) == 4
    assert all(later >= sooner * (1 - 1e-9) for sooner, later in pairwise(seconds))
    assert seconds[0] == pytest.approx(step_seconds(work, gpu, users))


def test_judging_reads_each_cache_once() -> None:
    """1 GB of one sequence takes as long in a pass over five tokens as in one of plain decoding."""
    cacheless = replace(WORK, facts=replace(WORK.facts, cache_bytes=0))

    def reading(tokens: int) -> float:
        seconds = [pass_seconds(work, card("4090"), 1, tokens) for work in (WORK, cacheless)]
        whole, without = (value for value in seconds if value is not None)
        return whole - without

    assert reading(5) == pytest.approx(reading(1)) and reading(1) > 1 / 1008


def test_break_even_is_where_the_speeds_meet() -> None:
    share = speeds().break_even
    assert share is not None and 0 < share < 1
    below, above = (speeds(acceptance_rate=share + by).speedup for by in (-0.02, 0.02))
    assert below is not None and above is not None and below < 1 < above


def test_without_a_rate_no_speed_is_claimed() -> None:
    plain = speeds()
    assert plain.decode is None and plain.speedup is None and plain.tokens_per_round is None
    assert plain.break_even is not None


def test_a_head_without_an_output_reads_the_models() -> None:
    """An EAGLE-3 head has its own for 32,000 tokens; a stored one is not counted twice."""
    speculation = guess(draft_model=EAGLE3)
    assert speculation.draft.dense_bytes < 0.06 * speculation.model.dense_bytes
    small = speeds(draft_model=EAGLE3, acceptance_rate=0.6).speedup
    sibling = speeds(acceptance_rate=0.6).speedup
    assert small is not None and sibling is not None and small > sibling


def test_a_block_is_guessed_in_one_pass() -> None:
    request = {"draft_tokens": 15, "acceptance_rate": 0.8}
    sizer = fetching(replace(eagle3(), repo_id="z-lab/Qwen3-8B-DFlash"))
    asked = {"model": "Qwen/Qwen3-8B", "engine": "vllm", "quant": "native", "gpu": "h100 sxm"}
    block = size(sizer, {**asked, **request, "draft_model": "z-lab/Qwen3-8B-DFlash"}).ranking[0]
    chain = speeds(draft_model=EAGLE3, **request)
    assert block.speculation.decode.likely > chain.decode.likely  # type: ignore[union-attr]


def test_a_plan_takes_guessed_tokens_into_account() -> None:
    target = {"requests_per_second": 2, "prompt_tokens": 200, "answer_tokens": 500}
    plain, never, often = (
        ranked(**target, acceptance_rate=share)[0].serving_plan.rows[0] for share in (None, 0, 0.9)
    )
    assert never.user_tokens_per_second < plain.user_tokens_per_second
    assert often.user_tokens_per_second > never.user_tokens_per_second
