"""vLLM's share of a card: its total, and what cache types, graphs and links take of it."""

from __future__ import annotations

import pytest

from gpusizer.core.units import GIB, MIB
from gpusizer.fit.study import Study, device_class_of
from gpusizer.fit.way import memory_of
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES, Placement, Split
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from tests.families import qwen3_moe
from tests.fits import fit_on
from tests.vllm_models import BIG, LLAMA_8B, VLLM, embedded


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


def sequence_of(profile: ModelProfile, version: str | None = None, **asked: str) -> int:
    """Cache of one sequence of 8,192 tokens of the checkpoint as stored."""
    workload = Workload(context=8192, engine_version=version, **asked)  # type: ignore[arg-type]
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


def inside_budget(model: ModelProfile, version: str, **more: object) -> int:
    workload = Workload(engine_version=version, **more)  # type: ignore[arg-type]
    return VLLM.overhead(Placement(model, workload, device_class=BIG)).inside.likely


def graphs_in_budget(model: ModelProfile, version: str) -> int:
    """What the estimate of CUDA graphs takes of the budget."""
    return inside_budget(model, version) - inside_budget(model, version, enforce_eager=True)


def test_the_second_model_runner_reserves_nothing_for_graphs_of_dense_models() -> None:
    """Issue 49224; pull request 53306 reserves it again. Qwen2.5-0.5B at 0.27.1 printed a pool of
    18.65 GiB: 0.85 x 23.99 - 1.49 - 0.25, though its graphs took 0.37."""
    experts = build_profile(qwen3_moe())
    assert graphs_in_budget(LLAMA_8B, "0.23.0") > 0
    assert graphs_in_budget(LLAMA_8B, "0.25.1") == graphs_in_budget(LLAMA_8B, "0.28.0") == 0
    assert graphs_in_budget(LLAMA_8B, "0.29.0") == graphs_in_budget(LLAMA_8B, "0.23.0")
    assert graphs_in_budget(experts, "0.27.1") == graphs_in_budget(experts, "0.23.0") > 0


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
