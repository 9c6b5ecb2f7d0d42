"""Servers with a draft under a load: a round by hand, laws, and doors that agree."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import front_door
from gpusizer.advice.ranking import Ranked
from gpusizer.fit.requirements import ServingLoad
from gpusizer.serving import Served
from gpusizer.serving.server import Guesses, Server
from gpusizer.serving.simulation import mean, simulated
from gpusizer.serving.steady import SPREAD, closed_loop, limit_of, random_arrivals
from gpusizer.speed import ModelFacts, Work
from gpusizer.speed.own_draft import OwnDraft
from gpusizer.speed.speculation import expected_tokens
from tests.asking import size
from tests.servers import served_by_first, server
from tests.sizers import embedded_sizer

OWN = {"model": "Qwen/Qwen3.5-27B", "draft_tokens": 3}
SECOND = {"model": "Qwen/Qwen3-32B", "draft_model": "Qwen/Qwen3-0.6B"}


DRAFT = server(dense=4e-4, cache=2e-6, product=1e-6, attention=1e-7, host=1e-4, sequence=0.0)


def guessing(
    prompt: int = 1024,
    answer: int = 256,
    guessed: int = 3,
    acceptance: float = 0.7,
    *,
    at_once: bool = False,
) -> Server:
    tokens = expected_tokens(acceptance, guessed)
    return server(prompt, answer, guesses=Guesses(DRAFT, guessed, tokens, at_once))


def test_a_round_by_hand() -> None:
    """Ten sequences, three guesses: the model judges 40 tokens and reads ten caches, 9.9 ms with
    its host; the draft takes three steps of ten tokens, 0.52 ms each."""
    judging = sqrt(6e-3**2 + (40 * 3e-5) ** 2) + 10 * 6e-5 + 2e-3 + 10 * 1e-5
    drafting = sqrt(4e-4**2 + (10 * 1e-6) ** 2) + 10 * 2e-6 + 1e-4
    assert guessing().step(10) == pytest.approx(judging + 3 * drafting, rel=1e-9)
    block = sqrt(4e-4**2 + (40 * 1e-6) ** 2) + 10 * 2e-6 + 1e-4
    assert guessing(at_once=True).step(10) == pytest.approx(judging + block, rel=1e-9)
    assert guessing().step(10) == pytest.approx(8.819e-3 + 3 * 5.201e-4, rel=1e-3)


def test_a_round_gives_its_tokens_and_an_answer_takes_fewer_of_them() -> None:
    """1 + 0.7 + 0.49 + 0.343 tokens; 255 further ones of an answer are 100.7 rounds."""
    one = guessing()
    assert (one.width, server().width) == (4, 1)
    assert one.tokens == pytest.approx(2.533)
    assert one.steps == pytest.approx(1 + 255 / 2.533)
    assert server().steps == 256


def test_prompts_are_read_by_the_draft_too() -> None:
    plain, drafted = server(), guessing()
    assert drafted.step(0, 1000) - plain.step(0, 1000) == pytest.approx(
        sqrt(4e-4**2 + 1e-3**2) + 1e-4 + 1000 * 1e-7 + 2 * 5e-4, rel=1e-6
    )


def test_parts_add_up_and_speed_and_prefix_reach_the_draft() -> None:
    one = guessing()
    assert one.parts(10).seconds == pytest.approx(one.step(10))
    assert one.at_speed(2.0).step(10) == pytest.approx(one.step(10) / 2)
    assert one.with_prefix(512).guesses is not None
    assert one.with_prefix(512).step(0, 512) > server().with_prefix(512).step(0, 512)


def test_the_gain_falls_as_the_batch_grows_and_ends() -> None:
    def gain(users: int) -> float:
        drafted = guessing(acceptance=0.4)
        return server().step(users) / (drafted.step(users) / drafted.tokens)

    gains = [gain(users) for users in (1, 8, 32, 64, 128, 256)]
    assert all(later < sooner for sooner, later in pairwise(gains))
    assert gains[0] > 1.2 > 1 > gains[-1]


GUESSED, ACCEPTANCE = st.integers(1, 8), st.floats(0.0, 1.0)


@settings(max_examples=40, deadline=None)
@given(
    users=st.integers(1, 200),
    guessed=GUESSED,
    acceptance=ACCEPTANCE,
    prompt=st.integers(16, 4000),
    answer=st.integers(64, 1500),
)
def test_the_simulation_agrees_with_the_closed_form(
    users: int, guessed: int, acceptance: float, prompt: int, answer: int
) -> None:
    one = guessing(prompt, answer, guessed, acceptance)
    state, sample = closed_loop(one, users, SPREAD), simulated(one, users, None)
    assert sample is not None
    rate = state.requests_per_second(one.steps)
    assert rate * (state.ttft + (one.steps - 1) * state.step_seconds) == pytest.approx(users)
    assert sample.requests_per_second == pytest.approx(rate, rel=0.15)
    assert mean(sample.each) == pytest.approx(state.step_seconds / one.tokens, rel=0.2)


@settings(max_examples=20, deadline=None)
@given(
    share=st.floats(0.05, 0.6),
    guessed=GUESSED,
    acceptance=ACCEPTANCE,
    prompt=st.integers(64, 2000),
    rounds=st.integers(64, 600),
)
def test_random_arrivals_agree_with_their_simulation(
    share: float, guessed: int, acceptance: float, prompt: int, rounds: int
) -> None:
    """Over the lengths at which plain servers agree, with answers of `rounds` rounds."""
    answer = round(rounds * expected_tokens(acceptance, guessed))
    one = guessing(prompt, answer, guessed, acceptance)
    rate = share * limit_of(one)[0]
    state, sample = random_arrivals(one, rate), simulated(one, None, rate)
    assert state is not None and sample is not None
    assert sample.requests_per_second == pytest.approx(rate, rel=0.12)
    assert mean(sample.each) == pytest.approx(state.step_seconds / one.tokens, rel=0.2)


def place(**fields: Any) -> Ranked:
    report = front_door.report({"gpu": "h100 sxm", "quant": "fp8", "context": 2048, **fields})
    assert report is not None
    return report.ranking[0]


def of_one_user(fields: dict[str, Any]) -> Served:
    report = front_door.report({"quant": "fp8", "context": 2048, **fields})
    found = served_by_first(report, ServingLoad(1, None, 1536, 512))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "asked", [OWN, SECOND, {"model": "deepseek-ai/DeepSeek-R1", "draft_tokens": 1}]
)
@pytest.mark.parametrize("gpu", ["h100 sxm", "8x h200", "mi300x", "rtx pro 6000"])
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_one_user_of_a_server_gains_what_the_one_user_answer_says(
    asked: dict[str, Any], gpu: str, engine: str
) -> None:
    """Within a tenth or more, at the constants of servers; and within its band."""
    plain = {**asked, "gpu": gpu, "engine": engine, "draft_tokens": None, "draft_model": None}
    drafted = {**asked, "gpu": gpu, "engine": engine, "acceptance_rate": 0.7}
    if "draft_model" not in asked:
        plain.pop("draft_model")
    answer = place(**drafted)
    if not answer.fit.verdict.all_on_gpu:
        return
    assert answer.speculation is not None and answer.speculation.speedup is not None
    assert answer.speculation.decode is not None
    guessed = of_one_user(drafted).tpot_seconds
    gain = of_one_user(plain).tpot_seconds.likely / guessed.likely
    assert gain >= 0.9 * answer.speculation.speedup
    assert 1 / guessed.low >= answer.speculation.decode.low


@pytest.mark.parametrize("asked", [OWN, SECOND])
def test_every_place_serves_with_its_draft(asked: dict[str, Any]) -> None:
    """Faster where it accepts much, slower where it accepts nothing; Little's law holds."""
    users = {"concurrency": 8, "prompt_tokens": 512, "answer_tokens": 256, "engine": "vllm"}
    plain, never, often = (
        place(**asked, **users, **stated).served
        for stated in ({}, {"acceptance_rate": 0.0}, {"acceptance_rate": 0.8})
    )
    assert plain is not None and never is not None and often is not None
    assert never.tpot_seconds.likely > plain.tpot_seconds.likely > often.tpot_seconds.likely
    for found in (plain, never, often):
        assert found.ttft_seconds is not None
        stay = found.ttft_seconds.likely + 255 * found.tpot_seconds.likely
        assert found.users * 256 / stay == pytest.approx(
            found.output_tokens_per_second.likely, rel=0.02
        )


def test_the_drafts_cache_takes_room_of_the_users() -> None:
    """Qwen3-0.6B keeps 28 x 2 x 1,024 numbers of a token, Qwen3-32B 64 x 2 x 1,024."""
    users = {"concurrency": 4, "prompt_tokens": 6000, "answer_tokens": 2000, "engine": "vllm"}
    load = ServingLoad(4000, None, 6000, 2000)

    def admitted(**stated: Any) -> tuple[int, int]:
        report = front_door.report({**SECOND, **users, "quant": "fp8", "gpu": "h200", **stated})
        found = served_by_first(report, load)
        assert report is not None and found is not None
        return found.admitted_users, report.ranking[0].fit.kv_pool_bytes

    (alone, pool), (drafted, same) = admitted(), admitted(acceptance_rate=0.7)
    assert same == pool
    assert drafted == pytest.approx(alone * 64 / (64 + 28), rel=0.05)


def test_the_draft_layer_of_a_model_by_hand() -> None:
    """DeepSeek-V3's layer 61 has 11.5 billion parameters without embedding and head.

    A token takes 8 of its 256 experts of 3 x 7,168 x 2,048; its cache has 576 numbers.
    """
    report = size(embedded_sizer(), {"model": "deepseek-ai/DeepSeek-V3", "draft_tokens": 1})
    estimate = next(e.estimate for e in report.estimates if e.estimate.engine.slug == "vllm")
    own = OwnDraft.from_estimate(report.profile, estimate)
    facts = ModelFacts.from_profile(report.profile, report.workload)
    assert own is not None and facts is not None
    assert own.expert_parameters == 256 * 3 * 7168 * 2048
    guess = own.facts(facts)
    assert guess.matrix_parameters == own.dense_parameters + own.expert_parameters // 32
    assert guess.cache_bytes == facts.cache_bytes // 61
    assert (guess.layers, guess.expert_layers) == (1, 1)
    work = own.work(Work.from_facts(facts, estimate), 1000)
    assert work.dense_bytes == own.dense_bytes + 1000 and work.pipeline == 1


def test_what_no_draft_layer_guesses_has_no_gain() -> None:
    """A model without draft layers, an engine that runs none, and no rate stated."""
    codes = {note.code for note in place(model="Qwen/Qwen3-8B").reasons}
    assert "acceptance_not_stated" not in codes
    assert place(model="Qwen/Qwen3-8B", draft_tokens=2, acceptance_rate=0.7).speculation is None
    own = place(**OWN, engine="vllm").speculation
    assert own is not None and own.decode is None and own.break_even is not None
    elsewhere = place(**OWN, engine="tensorrt-llm", acceptance_rate=0.7).speculation
    assert elsewhere is None
