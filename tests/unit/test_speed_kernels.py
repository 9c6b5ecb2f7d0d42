"""Effects of backend, build and flash attention on a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench import front_door
from bench.measurements import load_profile
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.workload import Workload
from gpusizer.speed import ModelFacts
from gpusizer.speed.classes import SERVING
from gpusizer.speed.decode import step_cost
from gpusizer.speed.kernels import (
    Kernels,
    cache_reads,
    expert_launch_seconds,
    pipelined,
    reads_of_weights,
    step_times,
    unpacking_seconds,
)
from gpusizer.speed.tables import (
    Pace,
)
from tests.speed_cases import LLAMA, WORK, card, speeds_on

GPT_OSS = "openai/gpt-oss-20b"


def kernels(engine: str = "llama.cpp", **asked: Any) -> Kernels:
    return Kernels.for_workload(Workload(**asked), ENGINES[engine].abilities)


def test_a_layer_takes_longer_under_rocm_than_under_vulkan() -> None:
    """The factor is 2.2, or 1.483, the geometric mean, for an unnamed backend.

    An MI300X has ROCm alone, an RTX 4090 neither, and vLLM no choice.
    """
    radeon = card("7900 XTX")
    assert step_times(kernels(backend="vulkan"), radeon).layer == 1.0
    assert step_times(kernels(backend="rocm"), radeon).layer == 2.2
    assert step_times(kernels(), radeon).layer == pytest.approx(1.4832, rel=1e-4)
    assert step_times(kernels(), card("MI300X")).layer == 2.2
    assert step_times(kernels(backend="rocm"), radeon).expert_layer == 2.2, (
        "routing is launched too"
    )
    assert step_times(kernels(backend="rocm"), card("4090")).layer == 1.0
    assert step_times(kernels("vllm", backend="rocm"), radeon).layer == 1.0


def test_a_band_spans_the_backends_that_are_left_open() -> None:
    """Its ends are those of the slower backend and of the faster one."""
    said = {
        backend: speeds_on(LLAMA, "7900 XTX", "q4_k_m", engine="llama.cpp", backend=backend).decode
        for backend in ("rocm", "vulkan", "auto")
    }
    slow, fast, either = (said[backend] for backend in ("rocm", "vulkan", "auto"))
    assert slow and fast and either
    assert slow.likely < either.likely < fast.likely
    assert (either.low, either.high) == (
        pytest.approx(slow.low, rel=0.01),
        pytest.approx(fast.high, rel=0.01),
    )


def test_metal_ran_operations_one_after_the_other_until_build_6450() -> None:
    """PR 15929. Builds count on Macs alone, and Ollama's versions are not builds."""
    mac = card("M2 Ultra 192GB")
    assert step_times(kernels(engine_version="b6449"), mac).layer == pytest.approx(1 / 0.6)
    for now in (kernels(engine_version="b6450"), kernels(), kernels("ollama")):
        assert step_times(now, mac).layer == 1.0


def test_gpt_oss_took_longer_on_boards_with_one_memory_before_its_kernels_were_fused() -> None:
    """240 us for each layer whose attention has sinks, 24 of gpt-oss-20b: 5.76 ms a token."""
    strix, spark = card("Strix Halo 128GB"), card("DGX Spark")
    for board in (strix, spark):
        assert step_times(kernels(engine_version="b6899"), board).sinks_seconds == 240e-6
        assert step_times(kernels(engine_version="b6900"), board).sinks_seconds == 0.0
    for other in (card("4090"), card("M4 Max 128GB")):
        assert step_times(kernels(engine_version="b6899"), other).sinks_seconds == 0.0
    old, new = (
        speeds_on(GPT_OSS, strix.slug, "native", engine="llama.cpp", engine_version=build).decode
        for build in ("b6899", "b6900")
    )
    assert old and new
    assert 1 / old.likely - 1 / new.likely == pytest.approx(24 * 240e-6, rel=0.01)


def test_vulkan_had_no_kernel_for_the_gated_delta_rule_at_first() -> None:
    """440 us for each of 30 layers of Qwen3.6-35B-A3B until build 8350, under Vulkan alone."""
    b70 = card("Arc Pro B70")
    old, now, sycl = (
        step_times(kernels(engine_version=build, backend=backend), b70).delta_seconds
        for build, backend in (("b8349", "vulkan"), ("b8350", "vulkan"), ("b8349", "sycl"))
    )
    assert (old, now, sycl) == (440e-6, 0.0, 0.0)
    facts = ModelFacts.from_profile(load_profile("Qwen/Qwen3.6-35B-A3B"), Workload())
    assert facts is not None and facts.delta_layers == 30


def test_a_layer_takes_half_as_long_on_an_m5_as_on_an_m4() -> None:
    for engine in ("llama.cpp", "mlx"):
        now = [step_times(kernels(engine), card(f"M{number} Max 128GB")) for number in (4, 5)]
        assert [times.layer for times in now] == [1.0, 0.5]
        assert [times.expert_layer for times in now] == [1.0, 0.5]
    m4, m5 = (card(f"M{number} Max 128GB") for number in (4, 5))
    assert (m5.fp16_flops, m4.fp16_flops) == (4 * 18.4e12, 18.4e12), "matrix units in the cores"


def test_cards_and_builds_without_graphs_launch_every_kernel() -> None:
    """25 us a layer: builds before 2800, Turing before 9950, Pascal always; Vulkan never."""
    assert step_times(kernels(engine_version="b2799"), card("4090")).launch_seconds == 25e-6
    assert step_times(kernels(engine_version="b2800"), card("4090")).launch_seconds == 0.0
    assert step_times(kernels(engine_version="b9949"), card("2080 Ti")).launch_seconds == 25e-6
    assert step_times(kernels(), card("2080 Ti")).launch_seconds == 0.0
    assert step_times(kernels(), card("1080 Ti")).launch_seconds == 25e-6
    assert step_times(kernels(backend="vulkan"), card("1080 Ti")).launch_seconds == 0.0
    assert step_times(kernels("vllm"), card("1080 Ti")).launch_seconds == 0.0


def test_cards_of_one_pipe_unpack_weights_beside_nothing() -> None:
    """A Tesla P40 of 11.76 TFLOPS: 12 operations for each of 7e9 weights in k-quants are 7.143 ms,
    6 in Q4_0 half of that. Turing has two pipes, and 16 bits need no unpacking."""

    def seconds(engine: str, gpu: str, bits: float, quant: str) -> float:
        return unpacking_seconds(kernels(engine), card(gpu), 7e9, bits, quant)

    assert seconds("llama.cpp", "Tesla P40", 4.8, "q4_k_m") == pytest.approx(0.007143, rel=1e-3)
    assert seconds("llama.cpp", "Tesla P40", 4.5, "q4_0") == pytest.approx(0.003571, rel=1e-3)
    assert seconds("llama.cpp", "Tesla P40", 16.0, "bf16") == 0.0
    assert seconds("llama.cpp", "2080 Ti", 4.8, "q4_k_m") == 0.0
    assert seconds("vllm", "Tesla P40", 4.8, "q4_k_m") == 0.0


def test_an_m1_unpacks_scales_within_scales_beside_nothing() -> None:
    """8 billion weights at 7 operations each on an M1 Max of 10.4 TFLOPS: 5.38 ms a token; none
    for Q4_0, on an M4 Pro or under an engine of other kernels."""
    billion = 8e9
    asked = (billion, 4.8, "q4_k_m")
    assert unpacking_seconds(kernels(), card("M1 Max 32GB"), *asked) == pytest.approx(
        5.385e-3, rel=1e-3
    )
    assert unpacking_seconds(kernels(), card("M1 Max 32GB"), billion, 4.5, "q4_0") == 0
    assert unpacking_seconds(kernels(), card("M4 Pro 24GB"), *asked) == 0
    assert unpacking_seconds(kernels("mlx"), card("M1 Max 32GB"), *asked) == 0


def test_weight_only_kernels_read_slowly_on_hopper() -> None:
    """Kernels written for Ampere reach 0.76 of the bandwidth there: 1.316 times as long."""
    for quant in ("awq-int4-g128", "gptq-int4-g32"):
        slow = reads_of_weights(SERVING, card("H100 SXM"), quant)
        assert slow == pytest.approx(1.3158, rel=1e-4)
        assert reads_of_weights(SERVING, card("A100 80GB SXM"), quant) == 1.0
        assert reads_of_weights("exllama", card("H100 SXM"), quant) == 1.0
    assert reads_of_weights(SERVING, card("H100 SXM"), "fp8") == 1.0


def test_routing_takes_longer_under_sycl() -> None:
    """It takes 3.5 times Vulkan's, or the geometric mean for an unnamed backend; CUDA has one."""
    arc = card("Arc Pro B70")
    assert step_times(kernels(backend="vulkan"), arc).expert_layer == 1.0
    assert step_times(kernels(backend="sycl"), arc).expert_layer == 3.5
    assert step_times(kernels(), arc).expert_layer == pytest.approx(3.5**0.5)
    assert step_times(kernels(), card("4090")).expert_layer == 1.0
    assert step_times(kernels(backend="vulkan"), card("4090")).expert_layer == 0.6
    assert step_times(kernels(backend="vulkan"), card("4090")).layer == 0.6


def test_without_flash_attention_every_query_head_reads_the_cache() -> None:
    """Llama-3.1-8B: 32 heads on 8 of keys. Builds before 6325 had it off unless asked for."""
    facts = ModelFacts.from_profile(load_profile(LLAMA), Workload())
    assert facts is not None and facts.query_heads == 4.0
    for off in (kernels(flash_attention=False), kernels(engine_version="b6324")):
        assert cache_reads(off, card("H100"), 4.0) == 4.0
        assert cache_reads(off, card("4090"), 4.0) == 2.0
        assert cache_reads(off, card("4090"), 1.0) == 1.0
    assert cache_reads(kernels(engine_version="b6325"), card("H100"), 4.0) == 1.0
    assert cache_reads(kernels("vllm", flash_attention=False), card("H100"), 4.0) == 1.0


def test_a_split_reads_batches_of_a_prompt_side_by_side() -> None:
    """16 batches on four cards: 19 turns of 64, of these 0.65 is reached: 0.4567.

    Four at most are on their way, Metal and Vulkan wait for each, and so did builds before PR 6017.
    """
    gpu = card("4090")
    assert pipelined(kernels(), gpu, 4, 16) == pytest.approx(0.4567, rel=1e-3)
    assert pipelined(kernels(), gpu, 8, 16) == pipelined(kernels(), gpu, 4, 16)
    assert pipelined(kernels(), gpu, 2, 1) == 1.0
    assert pipelined(kernels(backend="vulkan"), gpu, 4, 16) == 1.0
    assert pipelined(kernels(engine_version="b2399"), gpu, 4, 16) == 1.0


def test_a_host_that_launches_is_waited_for_or_waits() -> None:
    """Eager transformers on an RTX 4090: 32 layers at 0.8 ms are 25.6 ms, less than 31.75 + 2.48 of
    reading; at 1.2 ms 38.4, which is more. Neither adds to the other."""
    host = kernels("transformers")
    work = replace(WORK, family="transformers", engine="transformers", kernels=host)
    cost = step_cost(work, card("4090"), 1)
    assert cost is not None
    assert cost.seconds(Pace(0.5, 0.8e-3, 1)) == pytest.approx(0.034226, rel=1e-4)
    assert cost.seconds(Pace(0.5, 1.2e-3, 1)) == pytest.approx(0.0384, rel=1e-4)


def test_an_old_marlin_launches_each_expert_of_a_mixture() -> None:
    """Twice 2.1 us for each of 128 experts, 0.54 ms a layer; together since 0.7.3, for as few as 8
    since 0.8.5, as in the newest release."""

    def seconds(release: tuple[int, int, int] | None, experts: int = 128, **other: str) -> float:
        about = {"engine": "vllm", "quant": "awq-int4-g128", **other}
        return expert_launch_seconds(about["engine"], release, about["quant"], experts)

    assert seconds((0, 7, 2)) == pytest.approx(128 * 2 * 2.1e-6)
    assert seconds((0, 7, 3)) == seconds(None) == seconds((0, 7, 2), 0) == 0.0
    assert seconds((0, 8, 4), 8) == pytest.approx(8 * 2 * 2.1e-6) and seconds((0, 8, 5), 8) == 0.0
    assert seconds((0, 7, 2), quant="fp8") == seconds((0, 7, 2), engine="sglang") == 0.0


def test_a_release_that_launches_experts_one_by_one_is_slower() -> None:
    """DeepSeek-V3 in AWQ on eight A100: 11 tok/s and 30 with one launch (vLLM PR 12185)."""
    fields = {"model": "deepseek-ai/DeepSeek-V3", "quant": "awq-int4-g128", "engine": "vllm"}
    asked = {**fields, "gpu": "8x a100 sxm 80gb", "tensor_parallel": 8, "context": 2048}
    reports = [front_door.report({**asked, "engine_version": v}) for v in ("0.7.0", "0.7.3")]
    rates = [report.ranking[0].decode for report in reports if report is not None]
    old, new = (1 / rate.likely for rate in rates if rate is not None)
    assert old - new == pytest.approx(58 * 256 * 2 * 2.1e-6, rel=0.1)
