"""Load that a place of a ranking serves: figures, identity, limits."""

from __future__ import annotations

from typing import Any

import pytest

from bench import front_door
from gpusizer.fit.requirements import ServingLoad
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.serving import Served
from gpusizer.usecases.requests.request import CompareRequest, SizeRequest
from tests.documents import written
from tests.servers import served_by_first

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
PROMPT, ANSWER = 1024, 256


def answer(
    load: ServingLoad,
    *,
    gpu: str = "h100-sxm-80gb",
    quant: str = "bf16",
    engine: str = "vllm",
    count: int = 1,
    percentiles: bool = False,
    model: str = MODEL,
) -> Served | None:
    fields = {"model": model, "quant": quant, "engine": engine, "gpu": gpu, "gpu_count": count}
    report = front_door.report({**fields, "context": load.prompt + load.answer})
    return served_by_first(report, load, percentiles=percentiles)


def users(count: int, prompt: int = PROMPT, tokens: int = ANSWER) -> ServingLoad:
    return ServingLoad(count, None, prompt, tokens)


def known(result: Served | None) -> Served:
    assert result is not None
    return result


def identity(result: Served, tokens: int = ANSWER) -> float:
    """users x answer / (first token + (answer - 1) x each token) over the output."""
    assert result.ttft_seconds is not None
    stay = result.ttft_seconds.likely + (tokens - 1) * result.tpot_seconds.likely
    return result.users * tokens / stay / result.output_tokens_per_second.likely


@pytest.mark.parametrize("count", [1, 7, 64, 500, 3000])
@pytest.mark.parametrize(("engine", "quant"), [("vllm", "fp8"), ("sglang", "bf16")])
def test_littles_law_holds_in_every_answer(count: int, engine: str, quant: str) -> None:
    assert identity(known(answer(users(count), engine=engine, quant=quant))) == pytest.approx(
        1, rel=0.02
    )
    random = known(
        answer(ServingLoad(None, 0.5 + count / 1000, PROMPT, ANSWER), engine=engine, quant=quant)
    )
    assert identity(random) == pytest.approx(1, rel=0.02)


def test_published_runs_of_another_laboratory_lie_in_the_bands() -> None:
    """NVIDIA NIM, Llama 3 8B in 16 bits on one H100: 1,150 tokens/s with 10 users at 200/2,000
    tokens, 8.7 ms a token."""
    result = known(answer(users(10, 200, 2000), engine="tensorrt-llm"))
    assert result.output_tokens_per_second.low < 1150 < result.output_tokens_per_second.high
    assert result.tpot_seconds.low < 0.0087 < result.tpot_seconds.high
    assert result.total_tokens_per_second.likely == pytest.approx(
        result.output_tokens_per_second.likely * 1.1, rel=0.01
    )


def test_one_user_is_limited_by_weights_and_many_long_prompts_by_prompts() -> None:
    assert known(answer(users(1))).limited_by == "weights"
    assert known(answer(users(32, 8000, 100))).limited_by == "prompts"


def test_users_beyond_the_pool_are_a_queue_that_is_said() -> None:
    small = known(answer(users(400), gpu="rtx-4090-24gb"))
    assert small.limited_by == "queue"
    assert small.admitted_users < 60
    few = known(answer(users(small.admitted_users), gpu="rtx-4090-24gb"))
    assert small.ttft_seconds is not None and few.ttft_seconds is not None
    assert small.ttft_seconds.likely > 4 * few.ttft_seconds.likely
    assert small.tpot_seconds.likely == pytest.approx(few.tpot_seconds.likely, rel=0.1)


def test_more_requests_than_are_answered_have_no_first_token() -> None:
    result = known(answer(ServingLoad(None, 1000.0, PROMPT, ANSWER)))
    assert result.limited_by == "queue"
    assert result.ttft_seconds is None and result.e2e_seconds is None
    assert result.output_tokens_per_second.likely < 1000 * ANSWER


def test_a_faster_card_serves_more() -> None:
    rates = [
        known(answer(users(64), gpu=gpu)).output_tokens_per_second.likely
        for gpu in ("rtx-4090-24gb", "a100-sxm-80gb", "h100-sxm-80gb", "b200-sxm-180gb")
    ]
    assert rates == sorted(rates)


def test_replicas_beat_tensor_parallelism_over_pcie_under_load() -> None:
    """And the single user is faster on both cards (4x3090-llm-benchmarks)."""

    def rate(count: int, cards: int) -> float:
        result = known(
            answer(users(count), gpu="rtx-3090-24gb", count=cards, quant="awq-int4-g128")
        )
        return result.output_tokens_per_second.likely

    assert rate(1, 4) > rate(1, 1)
    assert 4 * rate(32, 1) > rate(128, 4)


def test_percentiles_lie_about_the_mean() -> None:
    result = known(answer(ServingLoad(None, 3.0, PROMPT, ANSWER), percentiles=True))
    first = result.ttft_seconds
    assert first is not None and first.p50 is not None and first.p95 is not None
    assert first.p50 <= first.p95
    assert first.p50 < first.likely * 1.2


def test_local_engines_have_servers_too() -> None:
    one, four = (
        known(answer(users(n), gpu="rtx-4090-24gb", engine="llama.cpp", quant="q4_k_m"))
        for n in (1, 4)
    )
    assert one.output_tokens_per_second.likely < four.output_tokens_per_second.likely
    assert identity(four) == pytest.approx(1, rel=0.02)


def test_what_does_not_fit_is_not_served() -> None:
    assert answer(users(4), gpu="rtx-3060-12gb") is None


def test_every_place_of_a_ranking_for_several_users_says_what_they_get() -> None:
    """The first place with percentiles, all with a limit; one user alone is not a load."""
    fields = {"model": MODEL, "quant": "bf16", "engine": "vllm", "context": 2048, "top": 3}
    report = front_door.report({**fields, "concurrency": 16})
    assert report is not None
    first, *others = [known(place.served) for place in report.ranking]
    assert first.ttft_seconds is not None and first.ttft_seconds.p95 is not None
    assert len(others) == 2
    assert all(place.users == 16 and place.limited_by for place in (first, *others))
    assert all(place.tpot_seconds.p95 is None for place in others)


def asked(**fields: object) -> dict[str, Any]:
    """Return `served` of the answer's first place."""
    report = front_door.report(
        {"model": MODEL, "quant": "bf16", "engine": "vllm", "gpu": "h100-sxm-80gb", **fields}
    )
    assert report is not None
    return written(report)["ranking"][0]["served"]


def test_users_with_stated_lengths_have_room_for_these_alone() -> None:
    """64 prompts of 500 tokens with answers of 200 are 64 sequences of 700 tokens, side by side and
    in a ranking; a stated context, one user and one length alone stay as they are.
    """
    lengths = {"prompt_tokens": 500, "answer_tokens": 200}
    fields = {"model": MODEL, "concurrency": 64, **lengths}
    requests = SizeRequest.from_fields(fields), CompareRequest.from_fields({**fields, "gpus": "t4"})
    for request in requests:
        assert (request.workload.context, request.workload.concurrency) == (700, 64)
    for other, context in (
        ({"context": 4000}, 4000),
        ({"concurrency": 1}, DEFAULT_CONTEXT),
        ({"answer_tokens": None}, DEFAULT_CONTEXT),
    ):
        assert SizeRequest.from_fields({**fields, **other}).workload.context == context


@pytest.mark.parametrize("load", [{"requests_per_second": 3}, {"concurrency": 24}])
def test_lengths_are_those_of_the_request(load: dict[str, float]) -> None:
    """Little's law with the stated answer; longer prompts wait longer."""
    lengths = {"prompt_tokens": PROMPT, "answer_tokens": ANSWER}
    few, long = asked(**load, **lengths), asked(**load, prompt_tokens=6000, answer_tokens=ANSWER)
    for result in (few, long):
        stay = result["ttft_seconds"]["likely"] + (ANSWER - 1) * result["tpot_seconds"]["likely"]
        output = result["output_tokens_per_second"]["likely"]
        assert result["users"] * ANSWER / stay == pytest.approx(output, rel=0.02)
    assert few["ttft_seconds"]["likely"] < long["ttft_seconds"]["likely"]
    if "requests_per_second" in load:
        assert few["output_tokens_per_second"]["likely"] == pytest.approx(3 * ANSWER, rel=0.01)


def test_one_replica_under_more_than_it_bears_is_a_queue() -> None:
    result = asked(requests_per_second=500, prompt_tokens=PROMPT, answer_tokens=ANSWER)
    assert result["limited_by"] == "queue" and result["ttft_seconds"] is None
