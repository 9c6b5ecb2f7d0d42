"""Repositories that are quantizations of others are asked about as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.model.profile import ModelProfile, build_profile
from tests.asking import compare, size
from tests.builders import llama
from tests.sizers import embedded_sizer

FP8, AWQ = "Qwen/Qwen3-8B-FP8", "casperhansen/deepseek-r1-distill-qwen-14b-awq"
COPIES = (FP8, AWQ, "Qwen/Qwen3-30B-A3B-FP8", "nvidia/Qwen3-8B-NVFP4")


def profile_of(model: str) -> ModelProfile:
    return size(embedded_sizer(), {"model": model}).profile


def on(model: str, gpu: str, **fields: Any) -> tuple[str, str, Verdict]:
    place = size(embedded_sizer(), {"model": model, "gpu": gpu, **fields}).ranking[0]
    return place.fit.estimate.quant.slug, place.fit.estimate.engine.slug, place.fit.verdict


@pytest.mark.parametrize(
    ("model", "gpu", "quant", "engine"),
    [
        (FP8, "4090", "fp8", "vllm"),
        (FP8, "3090", "fp8", "vllm"),
        # 8.8 GiB of weights on 12 GB: vLLM has no room for a context
        (FP8, "3060", "q6_k", "llama.cpp"),
        # nothing runs FP8 there
        (FP8, "M3 Max 64GB", "q6_k", "llama.cpp"),
        (AWQ, "4090", "awq-int4-g128", "vllm"),
        # Transformers alone runs AWQ there, at half of the speed
        (AWQ, "M3 Max 64GB", "q4_k_s", "llama.cpp"),
    ],
)
def test_a_copy_runs_as_it_is_where_its_engine_runs(
    model: str, gpu: str, quant: str, engine: str
) -> None:
    assert on(model, gpu) == (quant, engine, Verdict.FITS)


@pytest.mark.parametrize("model", COPIES)
def test_gpus_that_run_a_copy_as_it_is_come_first(model: str) -> None:
    """People who paste it ask for boards to run it on, not for those of another format."""
    ranking = size(embedded_sizer(), {"model": model, "top": 0}).ranking
    assert ranking[0].fit.estimate.native

    def sure(place: Ranked) -> bool:
        return place.fit.verdict is Verdict.FITS and place.score.suitability.kept_back is None

    natives = [place.fit.estimate.native for place in ranking if sure(place)]
    assert natives == sorted(natives, reverse=True) and len(set(natives)) == 2


@pytest.mark.parametrize("model", [FP8, AWQ])
def test_a_copy_is_compared_with_gpus_on_which_no_engine_runs_it(model: str) -> None:
    gpus = ["4090", "M3 Max 64GB", "V100"]
    compared = compare(embedded_sizer(), {"model": model, "gpus": gpus})
    assert all(item.ranked and item.ranked.fit.verdict.runs for item in compared.items)


@pytest.mark.parametrize(
    ("model", "gpu", "quant"),
    [
        ("openai/gpt-oss-20b", "4090", "mxfp4_moe"),
        ("deepseek-ai/DeepSeek-R1", "M3 Ultra 512GB", "q4_k_m"),
    ],
)
def test_a_release_in_few_bits_is_no_copy(model: str, gpu: str, quant: str) -> None:
    assert not profile_of(model).is_quantized_copy
    assert on(model, gpu)[0] == quant


def test_a_copy_is_known_by_its_card_or_its_name() -> None:
    plain = build_profile(llama())
    assert not replace(plain, base_relation="quantized").is_quantized_copy  # 16 bits, whatever said
    stored = profile_of(FP8)
    assert stored.is_quantized_copy
    renamed = replace(stored, repo_id="org/model")
    assert not renamed.is_quantized_copy
    assert replace(renamed, base_relation="quantized").is_quantized_copy


def test_an_engine_with_little_room_comes_before_eager_python() -> None:
    """AWQ of a 32B model on 24 GB: people give vLLM 95 % of the card."""
    asked = {"quant": "awq-int4-g128"}
    assert on("Qwen/Qwen3-32B", "4090", **asked) == ("awq-int4-g128", "vllm", Verdict.TIGHT)
