"""SGLang, TensorRT-LLM and TGI: the amounts that count against their share of the card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.core.units import GIB
from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES, Placement, Split
from gpusizer.memory.estimate import Estimator, MemoryEstimate
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Part
from tests.builders import llama
from tests.families import deepseek_r1, gemma3_1b
from tests.fits import fit_on
from tests.vllm_models import embedded, load

LLAMA_8B = build_profile(llama())
CARD = 80 * GIB


def estimate(engine: str) -> MemoryEstimate:
    quant = find_quant("bf16")
    sizes = weight_sizes(LLAMA_8B, quant, native=True)
    return Estimator(LLAMA_8B, Workload()).estimate(
        quant, ENGINES[engine], sizes, Split(), native=True
    )


def test_sglang_counts_what_stays_against_its_fraction() -> None:
    """(card - set-up) x fraction - weights: activations and graphs live in the rest of the card."""
    result = estimate("sglang")
    free = CARD - result.per_gpu.overhead.likely
    by_hand = free * 0.88 - result.per_gpu.weights.likely
    assert result.pool_bytes(CARD) == pytest.approx(by_hand, abs=2)
    # if the fraction covers the whole card, the card's memory is the limit
    small = result.per_gpu.total.likely
    assert result.spare(small)[0] <= 0


def test_deepseek_r1_on_eight_h200() -> None:
    """ai-dynamo/aisimulate pull request 263: about 509,000 tokens with a fraction of 0.82.

    A token has 61 layers x 576 x 2 bytes on every rank.
    """
    profile = build_profile(deepseek_r1())
    quant, gpu = native_quant(profile), load_catalogue().find("H200 SXM")
    workload = Workload(memory_utilization=0.82, kv_dtype="bf16", tensor_parallel=8)
    fit = fit_on(Study(profile, workload, [(quant, True)]), gpu, 8, quant, True, ENGINES["sglang"])
    assert fit is not None
    assert fit.kv_pool_tokens == pytest.approx(fit.kv_pool_bytes / (61 * 576 * 2), rel=0.001)
    assert fit.kv_pool_tokens == pytest.approx(509_000, rel=0.02)


def test_sglang_holds_the_scales_of_fp4_experts_in_fp32() -> None:
    """DeepSeek-V4's experts: a byte for two weights, and one E8M0 scale for 32 of them."""
    profile = embedded("deepseek-ai/DeepSeek-V4-Flash")
    scales_bytes = sum(
        group.stored_bytes
        for group in profile.groups
        if group.dtype == "F8_E8M0" and ".experts." in group.pattern and group.part is Part.TEXT
    )
    quant = native_quant(profile)
    sizes = weight_sizes(profile, quant, native=True)
    placement = Placement(profile, split=Split(tensor=8))
    vllm, sglang = (load(placement, sizes, ENGINES[engine]) for engine in ("vllm", "sglang"))
    added_bytes = sglang.per_gpu.likely - vllm.per_gpu.likely
    assert scales_bytes > 8 * GIB
    assert added_bytes == pytest.approx(3 * scales_bytes / 8, rel=0.01)


def test_of_shared_memory_the_system_has_its_part() -> None:
    sglang, gpu = ENGINES["sglang"], load_catalogue().find("GB10")
    card = sglang.device_class(gpu.device_memory_bytes, gpu.name, gpu.software)
    alone, shared = (
        sglang.overhead(Placement(LLAMA_8B, device_class=place)).inside.likely
        for place in (sglang.device_class(96 * GIB, "RTX PRO 6000"), card)
    )
    assert shared - alone == int(8.5 * GIB)


@pytest.mark.parametrize(("engine", "share"), [("tensorrt-llm", 0.90), ("tgi", 0.93)])
def test_other_engines_take_a_share_of_free_memory(engine: str, share: float) -> None:
    result = estimate(engine)
    other_bytes = result.per_gpu.total.likely - result.per_gpu.kv_cache.likely
    assert result.pool_bytes(CARD) == pytest.approx((CARD - other_bytes) * share, abs=2)


def test_sliding_layers_of_sglang_have_a_pool_of_their_own() -> None:
    """Gemma 3 1B: 4 full layers and 22 sliding ones, whose pool has 0.8 times the tokens."""
    sglang, placement = ENGINES["sglang"], Placement(build_profile(gemma3_1b()))
    arch, token = placement.arch, 2 * 256 * 2
    cache_bytes = sglang.sequence_bytes(placement, 10_000)
    assert cache_bytes == 10_000 * token * 4 + round(10_000 * token * 0.8) * 22
    assert sglang.longest_context(placement, cache_bytes) == 10_000
    assert arch is not None
    assert sum(run.count for run in arch.layer_plan if run.layer.name == "sliding") == 22


def test_tokens_that_sglang_guesses_take_a_layer_and_states() -> None:
    """DeepSeek-R1 has 61 layers of latents and one of drafts, in a pool of as many tokens. Each
    state of Qwen3.5-27B has four more where three tokens are guessed: those that are verified."""
    engine = ENGINES["sglang"]

    def of(model: ModelProfile, **asked: int) -> int:
        return engine.sequence_bytes(Placement(model, Workload(**asked)), 1000)  # type: ignore[arg-type]

    deepseek = build_profile(deepseek_r1())
    assert of(deepseek) == 1000 * 61 * 576 * 2
    assert of(deepseek, draft_tokens=3) == 1000 * 62 * 576 * 2
    hybrid = embedded("Qwen/Qwen3.5-27B")
    token, state = 2 * 2 * 4 * 256, 61_440 + 3_145_728
    assert of(hybrid) == 1000 * 16 * token + 48 * state
    assert of(hybrid, draft_tokens=3) == 1000 * 17 * token + 48 * 5 * state


def test_nothing_is_cached_where_nothing_is_generated() -> None:
    unknown = Placement(replace(LLAMA_8B, architecture=None))
    for engine in ENGINES.values():
        assert engine.sequence_bytes(unknown, 100) == 0
        assert engine.longest_context(unknown, GIB) is None
