"""vLLM: its versions, its cache, its budget, and that more work never needs less."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.units import GIB, MIB
from gpusizer.fit.run_config import memory_of
from gpusizer.fit.study import Study, device_class_of
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.memory.engines import ENGINES, Placement, Split
from gpusizer.memory.engines.bands import ResidualBand, band
from gpusizer.memory.engines.vllm import version_defaults
from gpusizer.memory.engines.vllm.releases import all_releases, vllm_release
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from tests.families import gemma3_1b, qwen3_moe, qwen3_next
from tests.fits import fit_on
from tests.vllm_models import (
    BIG,
    DEEPSEEK,
    GPT_OSS,
    LLAMA_8B,
    MODELS,
    NOW,
    VLLM,
    architecture,
    embedded,
)


@pytest.mark.parametrize(
    "version, since, generation",
    [
        (None, (0, 29, 0), "V1"),
        ("nightly", (0, 29, 0), "V1"),
        ("99.0", (0, 29, 0), "V1"),
        ("V0", (0, 7, 1), "V0"),
        ("0.6.3", (0, 2, 0), "V0"),
        ("0.1", (0, 2, 0), "V0"),
        ("0.8.5", (0, 8, 0), "V1"),
        ("v0.8.5 V0", (0, 7, 1), "V0"),
        ("0.19.0 V0", (0, 18, 0), "V1"),  # there was none any more
        ("vllm 0.10.2+cu128", (0, 9, 1), "V1"),
        ("0.19.2rc1.dev3", (0, 18, 0), "V1"),
        ("0.20.0", (0, 20, 0), "V1"),
    ],
)
def test_versions(version: str | None, since: tuple[int, int, int], generation: str) -> None:
    release = vllm_release(version)
    assert (release.since, release.generation) == (since, generation)


def test_the_table_of_eras_is_in_order() -> None:
    releases = all_releases()
    assert [release.since for release in releases] == sorted(
        {release.since for release in releases}
    )
    sorting = [release.since for release in releases if release.sorts]
    assert max(sorting) < (0, 17, 0) and len(sorting) == sum(e.since < (0, 17, 0) for e in releases)


def test_defaults_follow_the_card_and_its_name() -> None:
    assert VLLM.device_class(80 * GIB, "H100 SXM5 80GB") == BIG
    assert VLLM.device_class(79 * GIB, "A100 SXM4 80GB") == version_defaults.A100_CLASS
    assert VLLM.device_class(8 * GIB, "RTX A1000 8GB") == 0
    assert VLLM.device_class(180 * GIB, "B200") == version_defaults.HUGE_CLASS
    assert VLLM.device_class(120 * GIB, "GB10 / DGX Spark 128GB") == version_defaults.UNIFIED
    assert VLLM.device_class(16 * GIB, "RX 9070 XT", "ROCm") == version_defaults.ROCM
    assert (
        VLLM.device_class(192 * GIB, "MI300X", "ROCm")
        == version_defaults.HUGE_CLASS + version_defaults.ROCM
    )
    assert VLLM.utilization(Workload(engine_version="0.19")) == 0.90
    assert VLLM.utilization(Workload()) == 0.92
    assert VLLM.utilization(Workload(memory_utilization=0.5)) == 0.5
    limits = {
        c: version_defaults.limits_of(Placement(LLAMA_8B, device_class=c), NOW)
        for c in version_defaults.DEVICE_CLASSES
    }
    assert [(batch_limits.tokens, batch_limits.sequences) for batch_limits in limits.values()] == [
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (8192, 1024),
        (8192, 1024),
        (8192, 1024),
        (8192, 1024),
        (16384, 1024),
        (16384, 1024),
    ]


def test_a_prompt_is_one_step_for_the_first_scheduler() -> None:
    def of(context: int) -> version_defaults.BatchLimits:
        workload = Workload(context=context, concurrency=4)
        return version_defaults.limits_of(Placement(LLAMA_8B, workload), vllm_release("V0"))

    assert of(29_000) == version_defaults.BatchLimits(29_000, 256, True)
    assert of(40_000) == version_defaults.BatchLimits(
        2048, 256, False
    )  # chunked prefill turns itself on


def test_bands() -> None:
    band_around = ResidualBand("gib", -1.0, 2.0, 9).around(
        3 * GIB, Provenance.FITTED, highest=4 * GIB
    )
    assert (band_around.low, band_around.likely, band_around.high) == (2 * GIB, 3 * GIB, 6 * GIB)
    band_around = ResidualBand("share", -0.5, 0.25, 9).around(100, Provenance.DERIVED)
    assert (band_around.low, band_around.likely, band_around.high) == (50, 100, 125)
    assert band("vllm", "V9", "graphs") == band("vllm", "any", "graphs")


def test_the_share_is_of_the_total_that_pytorch_sees() -> None:
    """An RTX 3090: nvidia-smi says 24,576 MiB, torch.cuda.mem_get_info() 24,133 (vLLM's logs)."""
    gpu = load_catalogue().find("RTX 3090")
    assert memory_of(VLLM, gpu) == memory_of(ENGINES["sglang"], gpu) == 24133 * MIB
    assert memory_of(ENGINES["llama.cpp"], gpu) == 24576 * MIB
    workload = Workload(memory_utilization=0.9, enforce_eager=True)
    quant = native_quant(LLAMA_8B)
    study = Study(LLAMA_8B, workload, [(quant, True)])
    fit = fit_on(study, gpu, 1, quant, True, VLLM)
    assert fit is not None
    parts = fit.estimate.per_gpu
    taken = parts.weights.likely + parts.activations.likely + parts.overhead.likely
    assert fit.kv_pool_bytes == int(0.9 * 24133 * MIB) - taken


def sequence_of(profile: ModelProfile, version: str | None = None, **asked: Any) -> int:
    """Cache of one sequence of 8,192 tokens of the checkpoint as stored."""
    workload = Workload(context=8192, engine_version=version, **asked)
    quant = native_quant(profile)
    study = Study(profile, workload, [(quant, True)])
    return study.estimate(quant, True, VLLM, Split()).per_gpu.kv_cache.likely


def test_a_checkpoint_may_say_that_its_cache_is_in_eight_bits() -> None:
    """Qwen3-8B: 36 layers x 2 x 8 heads x 128 = 73,728 numbers a token. Model Optimizer's word is
    taken since 0.14 (pull request 29980), a type asked for goes before it.
    """
    profile = embedded("nvidia/Qwen3-8B-NVFP4")
    assert sequence_of(profile) == sequence_of(profile, "0.14.0") == 8192 * 73_728
    assert sequence_of(profile, "0.13.0") == sequence_of(profile, "V0") == 2 * 8192 * 73_728
    assert sequence_of(profile, kv_dtype="bf16") == 2 * 8192 * 73_728


def test_another_quantization_of_the_model_has_another_cache() -> None:
    profile = embedded("nvidia/Qwen3-8B-NVFP4")
    bf16 = find_quant("bf16")
    study = Study(profile, Workload(context=8192), [(bf16, False)])
    estimate = study.estimate(bf16, False, VLLM, Split())
    assert (estimate.kv_dtype, estimate.per_gpu.kv_cache.likely) == ("auto", 2 * 8192 * 73_728)


def test_weights_in_fp32_have_an_fp32_cache_and_activations() -> None:
    """Llama 3.1 8B: 32 x 2 x 8 x 128 x 4 = 262,144 bytes a token; vLLM printed 262,163."""
    study = Study(LLAMA_8B, Workload(context=8192), [])
    wide, narrow = (
        study.estimate(find_quant(slug), False, VLLM, Split()) for slug in ("fp32", "bf16")
    )
    assert wide.per_gpu.kv_cache.likely == 8192 * 262_144
    assert wide.per_gpu.activations.likely > narrow.per_gpu.activations.likely


def test_the_pool_is_what_the_share_leaves_whatever_lies_outside() -> None:
    """With all of an RTX 3090 asked for the CUDA context finds no room, but a pool is printed."""
    gpu = load_catalogue().find("RTX 3090")
    quant = native_quant(LLAMA_8B)
    study = Study(LLAMA_8B, Workload(memory_utilization=1.0), [(quant, True)])
    fit = fit_on(study, gpu, 1, quant, True, VLLM)
    assert fit is not None
    taken = fit.estimate.budgeted.likely - fit.estimate.per_gpu.kv_cache.likely
    assert fit.kv_pool_bytes == 24133 * MIB - taken
    assert fit.headroom_bytes == fit.kv_pool_bytes - (
        fit.estimate.per_gpu.kv_cache.likely + fit.estimate.per_gpu.outside.likely
    )


def inside_budget(model: ModelProfile, version: str, **more: Any) -> int:
    workload = Workload(engine_version=version, **more)
    return VLLM.overhead(Placement(model, workload, device_class=BIG)).inside.likely


def graphs_in_budget(model: ModelProfile, version: str) -> int:
    """Return the part of the budget for CUDA graphs in the estimate."""
    return inside_budget(model, version) - inside_budget(model, version, enforce_eager=True)


@pytest.mark.parametrize(
    "version, llama, packed, mixture, hybrid_model",
    [
        ("0.22.0", False, False, False, False),
        ("0.23.0", True, False, False, False),
        ("0.24.0", True, True, False, False),
        ("0.28.0", True, True, False, False),
        ("0.29.0", True, True, True, True),
    ],
)
def test_models_of_the_second_runner_by_release(
    version: str, llama: bool, packed: bool, mixture: bool, hybrid_model: bool
) -> None:
    """Release notes of 0.22 to 0.25, pull requests 44443, 44446 and 53183."""
    release = vllm_release(version)
    quantized = replace(LLAMA_8B, quantization=GPT_OSS.quantization)
    found = [
        release.runs_second(model)
        for model in (LLAMA_8B, quantized, build_profile(qwen3_moe()), build_profile(qwen3_next()))
    ]
    assert found == [llama, packed, mixture, hybrid_model]


def test_named_mixtures_and_all_dense_models_are_the_second_runners_since_0_25() -> None:
    dense = build_profile(gemma3_1b())
    lite = replace(DEEPSEEK, architecture=replace(architecture(DEEPSEEK), model_type="deepseek_v2"))
    assert [vllm_release(v).runs_second(dense) for v in ("0.24.0", "0.25.0")] == [False, True]
    assert [vllm_release(v).runs_second(lite) for v in ("0.24.0", "0.25.0")] == [False, True]


def test_the_second_model_runner_reserves_nothing_for_graphs_until_0_29() -> None:
    """Issue 49224; pull request 53306 reserves it again. Qwen2.5-0.5B at 0.27.1 printed a pool of
    18.65 GiB: 0.85 x 23.99 - 1.49 - 0.25, though its graphs took 0.37."""
    experts = build_profile(qwen3_moe())
    assert graphs_in_budget(LLAMA_8B, "0.22.0") > 0
    assert graphs_in_budget(LLAMA_8B, "0.23.0") == graphs_in_budget(LLAMA_8B, "0.28.0") == 0
    assert graphs_in_budget(LLAMA_8B, "0.29.0") == graphs_in_budget(LLAMA_8B, "0.22.0")
    assert graphs_in_budget(experts, "0.27.1") == graphs_in_budget(experts, "0.23.0") > 0


def test_windows_are_charged_for_every_batch_in_flight_since_0_26() -> None:
    """Issue 49878: Gemma-4-31B, 262,144 tokens in steps of 32,768. Pages of 256 KiB in groups of
    ten layers: 8,192 of the full ones, and five groups of 2,113, since 0.26 of 4,161."""
    gemma = embedded("google/gemma-4-31B-it")
    for version, pages_each, printed in (("0.25.1", 2113, 45.79), ("0.26.0", 4161, 70.79)):
        asked = Workload(engine_version=version, max_num_batched_tokens=32_768)
        found = VLLM.sequence_bytes(Placement(gemma, asked), 262_144)
        assert found == (8192 + 5 * pages_each) * 10 * 256 * 1024
        assert round(found / GIB, 2) == printed


def test_stages_keep_more_batches_in_flight() -> None:
    """One more than stages under the second runner, as many as stages under the first."""

    def of(stages: int, version: str, model: ModelProfile = LLAMA_8B) -> int:
        asked = Workload(engine_version=version, max_num_batched_tokens=1000)
        placement = Placement(model, asked, Split(1, stages))
        return version_defaults.in_flight_tokens(placement, vllm_release(version))

    assert [of(stages, "0.28.0") for stages in (1, 2, 4)] == [2000, 3000, 5000]
    experts = build_profile(qwen3_moe())
    assert [of(stages, "0.28.0", experts) for stages in (1, 2, 4)] == [2000, 2000, 4000]
    assert of(4, "0.25.1") == 1000


def test_the_largest_cards_take_larger_steps_since_0_28() -> None:
    """Pull request 51726: it is in v0.28.0, and in no tag of 0.27."""

    def tokens(version: str) -> int:
        asked = Workload(engine_version=version)
        placement = Placement(LLAMA_8B, asked, device_class=version_defaults.HUGE_CLASS)
        return version_defaults.limits_of(placement, vllm_release(version)).tokens

    assert (tokens("0.27.1"), tokens("0.28.0")) == (8192, 16_384)


def test_buffers_for_nvlink_need_peers() -> None:
    """Two H100 hold 2.08 GiB of communicators each since 0.18; two RTX PRO 6000, as large but on
    PCIe alone, what other cards hold there."""
    catalogue = load_catalogue()

    def inside(name: str) -> float:
        card = device_class_of(VLLM, catalogue.find(name))
        eager = Workload(engine_version="0.19.0", enforce_eager=True)
        return VLLM.overhead(Placement(LLAMA_8B, eager, Split(2), card)).inside.likely / GIB

    assert inside("H100 SXM") == pytest.approx(2.08)
    assert inside("RTX PRO 6000") == inside("RTX 4090") == pytest.approx(0.5)
    assert inside("A100 SXM4 80GB") == inside("RTX 4090")  # no switches that add up


@pytest.mark.parametrize("model", MODELS)
def test_a_bigger_card_never_holds_less(model: ModelProfile) -> None:
    """Over the catalogue's cards in order of memory, with the defaults vLLM has on each.

    Among cards that run the same software and are joined alike: HIP's graphs take more than CUDA's,
    and FlashAttention 3 holds outputs of its splits on Hopper. A100s and the GB10 apart: they keep
    the defaults of small cards, and so hold more than others of their size.
    """
    quant = find_quant("bf16")
    study = Study(model, Workload(), [(quant, False)])
    kinds: dict[tuple[str, bool], list[Gpu]] = {}
    for gpu in sorted(load_catalogue().gpus, key=lambda gpu: gpu.device_memory_bytes):
        if not {"A100", "GB10"} & set(gpu.name.split()):
            kinds.setdefault((gpu.software, bool(gpu.nvlink or gpu.interconnect)), []).append(gpu)
    for cards, split in product(kinds.values(), (Split(), Split(8))):
        rooms = [
            study.estimate(quant, False, VLLM, split, device_class_of(VLLM, gpu)).spare(
                gpu.device_memory_bytes
            )
            for gpu in cards
        ]
        for smaller, larger in pairwise(rooms):
            assert larger[0] >= smaller[0] and larger[1] >= smaller[1]
