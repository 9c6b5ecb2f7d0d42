"""Users who take turns: fewer boards for a named card, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.advice.in_turns import FEWEST_AT_ONCE
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.launch import launch_command
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.request import CompareRequest
from tests.asking import size
from tests.documents import written
from tests.priced_day import priced_day
from tests.sizers import embedded_sizer

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

MISTRAL = "mistralai/Mistral-7B-Instruct-v0.1"
LENGTHS = {"prompt_tokens": 1024, "answer_tokens": 1024}


def report(model: str = MISTRAL, users: int = 64, **fields: Any) -> Report:
    return size(embedded_sizer(), {"model": model, "concurrency": users, **LENGTHS, **fields})


@pytest.mark.parametrize(
    "model, gpu, boards, all_at_once",
    [
        (MISTRAL, "a10g", 1, 2),
        ("openai/gpt-oss-120b", "a100-pcie-80gb", 1, 2),
        ("codellama/CodeLlama-34b-hf", "a100-sxm-80gb", 1, 2),
    ],
)
def test_a_quarter_of_the_users_at_once_is_enough_for_a_named_card(
    model: str, gpu: str, boards: int, all_at_once: int
) -> None:
    asked = report(model, gpu=gpu)
    (place,) = asked.ranking
    at_once = place.fit.estimate.placement.workload.sequences
    assert place.fit.count == boards
    assert 64 / FEWEST_AT_ONCE <= at_once < 64
    assert place.fit.max_concurrency is not None and place.fit.max_concurrency >= at_once
    served = place.served
    assert served is not None and served.admitted_users <= at_once < served.users == 64
    assert 1 / served.tpot_seconds.likely >= READING_SPEED
    assert place.user_rate is not None and place.score.tokens_per_second == place.user_rate.likely
    assert place.user_rate.likely == pytest.approx(1 / served.tpot_seconds.likely, rel=0.005)
    beside = {alternative.kind: alternative.item for alternative in asked.alternatives}
    assert beside["at_once"].fit.count == all_at_once
    assert beside["at_once"].served is not None
    assert beside["at_once"].served.ttft_seconds is not None and served.ttft_seconds is not None
    assert beside["at_once"].served.ttft_seconds.likely < served.ttft_seconds.likely


def test_the_answer_says_how_many_wait_and_for_how_long() -> None:
    found = report(gpu="a10g")
    at_once = found.ranking[0].fit.estimate.placement.workload.sequences
    asked = written(found)
    assert "users_in_turns" in [note["code"] for note in asked["ranking"][0]["reasons"]]
    sentence = asked["answer"]["sentence"]
    assert f"{at_once} at a time" in sentence
    assert "the others wait" in sentence
    more = " ".join(note["message"] for note in asked["answer"]["weighed"])
    assert "All of them at once: 2 × A10G" in more


def test_fewer_sequences_are_what_the_command_starts() -> None:
    found = report(gpu="a10g")
    config, profile = found.ranking[0].fit.config, found.profile
    at_once = config.estimate.placement.workload.sequences
    assert f"--max-num-seqs {at_once}" in launch_command(profile, config, found.workload).text


@pytest.mark.parametrize("boards", [1, 2])
def test_stated_boards_serve_as_many_at_once_as_they_hold(boards: int) -> None:
    """One A10G keeps vLLM and lets users wait: it takes no engine that is made for one user."""
    (place,) = report(gpu="a10g", gpu_count=boards).ranking
    assert place.fit.count == boards
    assert place.fit.estimate.engine.slug == "vllm"
    assert (place.fit.estimate.placement.workload.sequences < 64) == (boards == 1)


def test_turns_are_for_many_users_and_open_limits() -> None:
    for fields in ({"users": 1}, {"max_num_seqs": 64}):
        (place,) = report(gpu="a10g", **fields).ranking
        workload = place.fit.estimate.placement.workload
        assert workload.sequences == workload.concurrency


def test_a_stated_scheduler_limit_takes_only_its_own_cache() -> None:
    wide, narrow = (
        report(gpu="a10g", gpu_count=2, engine="vllm", quant="bf16", max_num_seqs=n).ranking[0]
        for n in (None, 16)
    )
    caches = [item.fit.estimate.per_gpu.kv_cache.likely for item in (wide, narrow)]
    assert caches[1] * 64 == caches[0] * 16


def test_cards_that_serve_in_turns_are_compared_in_a_format_for_servers() -> None:
    # One H100 does not hold 32 sequences at once: that is no reason for GGUF and system memory.
    fields = {"model": "Qwen/Qwen3-32B", "gpus": ["H100", "A100"], "concurrency": 32}
    comparison = embedded_sizer().compare(CompareRequest.from_fields(fields))
    places = [item.ranked for item in comparison.items if item.ranked]
    assert {place.fit.estimate.engine.slug for place in places} == {"vllm"}
    assert [place.workload.takes_turns for place in places] == [True, False]
    said = {note.code: note.fields for note in comparison.conclusion.said}
    assert "answer_compared_each" in said
    weighed = {note.code: note.fields for note in comparison.conclusion.weighed}
    assert weighed["answer_in_turns"]["gpus"] == "H100 SXM5 80GB"


def test_who_waits_lowers_the_speed_that_is_compared() -> None:
    fields = {"model": "Qwen/Qwen3-32B", "gpus": ["H100", "2x A100"], "concurrency": 32}
    comparison = embedded_sizer().compare(CompareRequest.from_fields(fields))
    in_turns = next(item.ranked for item in comparison.items if item.ranked)
    assert in_turns.user_rate is not None and in_turns.tokens_per_second is not None
    shared = in_turns.tokens_per_second / 32
    assert shared < in_turns.user_rate.likely / 1.5
    speeds = [n.fields["tokens"] for n in comparison.conclusion.said if "tokens" in n.fields]
    assert speeds[0] < in_turns.user_rate.likely / 1.5
