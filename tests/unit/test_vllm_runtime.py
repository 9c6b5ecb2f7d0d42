"""vLLM: peak of a step, CUDA graphs and communicators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.units import GIB
from gpusizer.memory.engines import Overhead, Placement, Split
from gpusizer.memory.engines.vllm import runtime, version_defaults
from gpusizer.memory.engines.vllm.eras import era_of
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part
from tests.families import qwen3_moe, qwen3_next
from tests.vllm_models import (
    BIG,
    DEEPSEEK,
    GPT_OSS,
    LLAMA_8B,
    NOW,
    VLLM,
    architecture,
    embedded,
    load,
    peak,
    sequence,
)


def test_the_peak_is_the_sampler_or_a_step() -> None:
    logits, hidden = 4 * 1024 * 128_256, 8192 * 2 * 4096
    base = 0.08 * GIB + 1.5 * hidden
    assert peak(LLAMA_8B, BIG) == pytest.approx(3.5 * logits + base, abs=1)
    sorting = 9.6 * logits + 0.8 * hidden  # 4.75 GiB; 4.76 as printed by 0.16
    assert round(sorting / GIB, 2) == 4.75
    assert peak(LLAMA_8B, BIG, engine_version="0.15") == pytest.approx(sorting, abs=1)
    fast = 3.5 * logits + base
    assert peak(LLAMA_8B, BIG, engine_version="0.11.0", sampler="flashinfer") == pytest.approx(
        fast, abs=1
    )
    asked = Workload(engine_version="0.11.0")
    open_question = VLLM.activations(Placement(LLAMA_8B, asked, device_class=BIG))
    assert open_question.likely == pytest.approx(sorting, abs=1)  # where nobody said, PyTorch sorts
    assert open_question.low < fast  # and the band reaches down to FlashInfer
    few = peak(LLAMA_8B, BIG, max_num_seqs=8)
    assert few == 8192 * 2 * 3 * (14_336 + 4096)  # forward
    # V0 on a 3090 at 29,000 tokens: 110,592 B each, 2.99 GiB as logged
    assert peak(LLAMA_8B, engine_version="0.6.4", context=29_000) == 29_000 * 110_592


def test_the_first_scheduler_keeps_no_metadata_beside_the_sampler() -> None:
    # 9.6 FP32 copies of 160 sequences x 128,256 logits, 0.8 of a step's states: 0.74 GiB as logged
    sampler_bytes = 9.6 * 4 * 160 * 128_256 + 0.8 * 1024 * 2 * 4096
    peak_bytes = peak(
        LLAMA_8B,
        engine_version="0.7.3",
        context=1024,
        max_num_seqs=160,
        max_num_batched_tokens=1024,
    )
    assert peak_bytes == pytest.approx(sampler_bytes, abs=1)
    assert round(peak_bytes / GIB, 2) == 0.74


def test_an_embedding_model_samples_nothing() -> None:
    forward = 8192 * 2 * 3 * (14_336 + 4096)
    for model_facts in (
        {"library": "sentence-transformers"},
        {"pipeline_tag": "feature-extraction"},
    ):
        assert peak(replace(LLAMA_8B, **model_facts), BIG) == forward  # type: ignore[arg-type]
    assert sequence(architecture(LLAMA_8B), 16) == 16 * 131_072  # its cache stays


def test_experts_keep_their_workspace() -> None:
    moe = build_profile(qwen3_moe())
    arch = architecture(moe)
    # 8192 tokens x 8 experts x (max(2 x 768, 2048) + 768) x 2 B
    workspace = 8192 * 8 * (2048 + 768) * 2
    logits = 3.5 * 4 * 1024 * (arch.vocab_size or 0)
    base = 0.08 * GIB + 1.5 * 8192 * 2 * 2048
    assert peak(moe, BIG) == pytest.approx(logits + base + workspace, abs=2)
    # MXFP4 kernels give theirs back
    assert peak(GPT_OSS, BIG) == pytest.approx(
        3.5 * 4 * 1024 * 201_088 + 0.08 * GIB + 1.5 * 8192 * 2 * 2880, abs=2
    )


def overhead(card: int = 0, **asked: Any) -> Overhead:
    return VLLM.overhead(Placement(LLAMA_8B, Workload(**asked), device_class=card))


def test_graphs_follow_layers_and_sizes() -> None:
    assert [runtime.captured_sizes(n) for n in (1, 2, 8, 64, 256, 1024)] == [2, 3, 5, 19, 51, 51]
    arch, split = architecture(LLAMA_8B), Split()
    limits = version_defaults.BatchLimits(8192, 1024, True)
    whole = runtime.graph_bytes(arch, limits, split, era_of("0.19.0"))
    assert whole == pytest.approx((0.25 + 0.02 * 32) * GIB)
    old, new, turn = (overhead(BIG, engine_version=v) for v in ("0.19", "0.25", "0.20.0"))
    eager = overhead(BIG, enforce_eager=True)
    assert old.outside.likely > new.outside.likely == eager.outside.likely
    assert new.inside.likely > eager.inside.likely == old.inside.likely
    assert turn.outside.likely == eager.outside.likely  # subtracted a release earlier than said
    assert turn.inside.likely - old.inside.likely == round(whole)


def test_amd_cards_hold_kernels_and_larger_graphs_outside_the_budget() -> None:
    arch, limits = architecture(LLAMA_8B), version_defaults.BatchLimits(2048, 256, True)
    graphs = runtime.graph_bytes(arch, limits, Split(), NOW, version_defaults.ROCM)
    assert graphs == pytest.approx(3.6 * (0.25 + 0.02 * 32) * GIB)
    cuda, hip, eager = overhead(0), overhead(version_defaults.ROCM), overhead(enforce_eager=True)
    assert hip.inside.likely == round(0.25 * GIB) + round(0.5 * GIB) < hip.inside.high
    assert hip.outside.likely - eager.outside.likely == round(graphs)
    assert cuda.inside.likely > round(0.25 * GIB)


def test_shared_memory_counts_what_the_host_takes() -> None:
    card, chip = (overhead(c, enforce_eager=True) for c in (0, version_defaults.UNIFIED))
    assert chip.inside.likely - card.inside.likely == round(3.7 * GIB)
    assert chip.outside == card.outside


def test_communicators_by_link_and_version() -> None:
    def of(version: str, split: Split, card: int) -> float:
        return runtime.non_torch_bytes(split, card, era_of(version)) / GIB

    assert of("0.19.0", Split(2), BIG) == 2.08
    assert of("0.19.0", Split(2), 0) == 0.5
    assert of("0.15.0", Split(4), BIG) == 0.54
    assert of("0.19.0", Split(), BIG) == 0.25
    assert of("0.19.0", Split(pipeline=2), BIG) == 0.075


def test_draft_layers_and_text_only_change_weights() -> None:
    quant = native_quant(DEEPSEEK)
    sizes = weight_sizes(DEEPSEEK, quant, native=True)

    def of(**asked: Any) -> int:
        return load(Placement(DEEPSEEK, Workload(**asked)), sizes).per_gpu.likely

    draft = [g for g in DEEPSEEK.groups if g.part is Part.MTP]
    shared = sum(g.stored_bytes for g in draft if g.kind in (Kind.EMBEDDING, Kind.OUTPUT))
    whole = sum(g.stored_bytes for g in draft)
    assert of(draft_tokens=1) - of() == pytest.approx(whole - shared, rel=0.01)
    arch = architecture(DEEPSEEK)
    assert sequence(arch, 16, draft_tokens=1) == 16 * 62 * 576 * 2
    llava = embedded("ybelkada/llava-1.5-7b-hf-awq")
    towers = sum(g.stored_bytes for g in llava.groups if g.part in (Part.VISION, Part.PROJECTOR))
    sizes = weight_sizes(llava, native_quant(llava), native=True)
    with_images, text = (
        load(Placement(llava, Workload(text_only=only)), sizes).per_gpu.likely
        for only in (False, True)
    )
    assert with_images - text == pytest.approx(towers, rel=0.01)
    assert peak(llava, BIG, text_only=True) < peak(llava, BIG)


def test_v0_runs_a_batch_of_encoders() -> None:
    whisper = embedded("openai/whisper-large-v3")
    states = 3 * 2 * 256 * 1500 * 1280
    assert peak(whisper, engine_version="0.10.0 V0", context=448) >= states
    assert peak(whisper, engine_version="0.19.0", context=448) < states


def test_the_warm_up_of_gated_delta_rules_counts_as_graphs() -> None:
    """Qwen3-Next: 32 heads of 128 values, 16 bytes for each and each of 8,192 tokens: 0.5 GiB."""
    model = build_profile(qwen3_next())
    after, before, eager = (
        peak(model, BIG, engine_version=version, enforce_eager=eager)
        for version, eager in (("0.26.0", False), ("0.25.0", False), ("0.26.0", True))
    )
    assert after - before == after - eager == 8192 * 16 * 32 * 128 == GIB // 2
