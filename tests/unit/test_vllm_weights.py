"""vLLM: weights as they are loaded and divided, and what is held beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.units import GIB, MIB
from gpusizer.memory.engines import ENGINES, Overhead, Placement, Split
from gpusizer.memory.engines.vllm import extras, runtime, version_defaults
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.engines.vllm.weights import plan_of, rounded, stage_edges
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture.rotary import Rotary
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part
from tests.families import qwen3_moe
from tests.vllm_models import (
    BIG,
    DEEPSEEK,
    GPT_OSS,
    LLAMA_8B,
    MODELS,
    VLLM,
    architecture,
    embedded,
    load,
    loaded,
    peak,
    sequence,
)


def test_large_allocations_are_rounded_unless_much_would_be_left() -> None:
    sizes = [9.5 * MIB, 11.5 * MIB, 12 * MIB, 12.9 * MIB, 13.1 * MIB]
    expected = [9.5 * MIB, 12 * MIB, 12 * MIB, 12.9 * MIB, 14 * MIB]
    assert [rounded(size) for size in sizes] == expected


def test_weights_are_fused_divided_and_rounded() -> None:
    """Llama-3.1-8B: qkv 6144, o 4096, gate_up 28672 and down 14336 x 4096 are whole MiB.

    So are embedding and head, but half of one is 501 MiB, which becomes 502.
    """
    rotary = 131_072 * 128 * 2
    norms = (2 * 32 + 1) * 4096 * 2
    assert loaded(LLAMA_8B, Split())[0] == 16_060_522_496 + rotary
    assert loaded(LLAMA_8B, Split(2))[0] == (16_060_522_496 - norms) // 2 + norms + rotary + 2 * MIB
    # 16 ranks, 8 key and value heads: each is held twice
    repeated = 32 * 2 * 1024 * 4096 * 2 // 8
    shared = (16_060_522_496 - norms) // 16 + norms + rotary
    sixteen = loaded(LLAMA_8B, Split(16))[0]
    assert sixteen == pytest.approx(shared + repeated // 2, rel=0.01)


def test_a_stage_holds_the_embedding_or_the_head() -> None:
    matrix = 128_256 * 4096 * 2
    layer = (16_060_522_496 - 2 * matrix - 4096 * 2) // 32
    rotary = 131_072 * 128 * 2
    fullest, everything = loaded(LLAMA_8B, Split(pipeline=4))
    assert fullest == 8 * layer + matrix + 4096 * 2 + rotary  # the last stage has the final norm
    assert everything == 16_060_522_496 + 4 * rotary
    assert stage_edges(61, 2) == [0, 31, 61]
    assert stage_edges(32, 4) == [0, 8, 16, 24, 32]
    assert stage_edges(30, 4) == [0, 7, 15, 23, 30]


def test_draft_layers_stay_on_disk_and_the_latent_is_absorbed() -> None:
    draft = sum(g.stored_bytes for g in DEEPSEEK.groups if g.part == "mtp")
    assert draft > 10 * GIB
    absorbed = 61 * 128 * (128 + 128) * 512 * 2
    weight_bytes = loaded(DEEPSEEK, Split())[0]
    assert weight_bytes == pytest.approx(688_574_839_360 - draft + absorbed, rel=0.002)
    assert extras.absorbed_elements(DEEPSEEK, Split(8), vllm_release("0.6")) == 0
    # 0.7: 16 heads per rank x (1536 x 576 + 512 x 7168) elements in each of 61 layers
    folded = 61 * 16 * (1536 * 576 + 512 * 7168)
    assert extras.absorbed_elements(DEEPSEEK, Split(8), vllm_release("0.7.2")) == folded


@pytest.mark.parametrize(
    ("version", "card", "split", "share"),
    [
        ("0.10.1", version_defaults.A100_CLASS, 1, 3072 / 2880 * 2944 / 2880),  # Marlin
        ("0.10.1", version_defaults.A100_CLASS, 4, 3072 / 2880 * 768 / 720),
        ("0.14.1", BIG, 1, 1 + (3072 / 2880 - 1) * 32 / 34),  # Triton: values of one side
        ("0.19.0", BIG, 1, 1 + (3072 / 2880 * 2944 / 2880 - 1) * 32 / 34),
        ("0.19.0", version_defaults.XPU, 1, 2944 / 2880),  # hidden alone, to 128
    ],
)
def test_mxfp4_experts_are_padded(version: str, card: int, split: int, share: float) -> None:
    sizes = weight_sizes(GPT_OSS, find_quant("mxfp4"), native=True)
    experts = 24 * 32 * 3 * 2880 * 2880 * 17 // 32
    placement = Placement(GPT_OSS, split=Split(split), device_class=card)
    extra = extras.padding_bytes(placement, sizes, vllm_release(version))
    assert extra == pytest.approx(experts * (share - 1) / split, rel=1e-6)


@pytest.mark.parametrize(
    "rotary, rows",
    [
        (Rotary(128, 8192), 8192),
        (Rotary(128, 8192, "linear", 8.0), 65_536),
        (Rotary(128, 131_072, "llama3", 8.0, 8192), 131_072),
        (Rotary(128, 131_072, "yarn", 32.0, 4096), 131_072),
        (Rotary(96, 131_072, "longrope", 1.0, 4096), 135_168),
        (Rotary(128, 32_768, sectioned=True), 131_072),
    ],
)
def test_rotary_tables(rotary: Rotary, rows: int) -> None:
    arch = replace(architecture(LLAMA_8B), rotary=(rotary,))
    assert extras.rotary_bytes(arch, wide=False) == rows * rotary.width * 2
    assert extras.rotary_bytes(arch, wide=True) == rows * rotary.width * 4


def test_weights_without_an_architecture_are_all_loaded() -> None:
    model = replace(LLAMA_8B, architecture=None)
    sizes = weight_sizes(model, find_quant("bf16"), native=True)
    assert load(Placement(model), sizes).per_gpu.likely == sizes.total


def test_every_group_is_part_of_one_allocation() -> None:
    for model in MODELS:
        plan = plan_of(model)
        assert len(plan.piece) == plan.groups == len(model.groups)
        assert plan.stages(1) == (plan.count,)
        layers_of_stage = [sum(parts) for parts in zip(*plan.stages(2), strict=True)]
        assert layers_of_stage == pytest.approx(plan.count)


def test_draft_layers_are_divided_like_the_decoder() -> None:
    """DeepSeek-R1's draft layer: experts and attention over eight ranks, the joint projection
    (7168 x 14336 in 16 bits) whole on each."""
    quant = native_quant(DEEPSEEK)
    sizes = weight_sizes(DEEPSEEK, quant, native=True)

    def of(split: Split, drafts: int) -> int:
        asked = Workload(draft_tokens=drafts)
        return load(Placement(DEEPSEEK, asked, split), sizes).per_gpu.likely

    def added(split: Split) -> int:
        return of(split, 1) - of(split, 0)

    drafts = [g for g in DEEPSEEK.groups if g.part is Part.MTP]
    experts = sum(g.stored_bytes for g in drafts if g.kind is Kind.EXPERT)
    joint = next(g.stored_bytes for g in drafts if "eh_proj" in g.pattern)
    assert experts > 10 * GIB and joint == 2 * 7168 * 14336
    for split in (Split(tensor=8), Split(tensor=8, expert=8)):
        assert added(split) < added(Split()) / 8 + joint + 0.1 * GIB
        assert added(split) > experts / 8 + joint


def test_adapters_have_buffers_beside_every_linear() -> None:
    """Llama 3.1 8B, in a layer: q and o 4096 + 4096 numbers for each unit of rank, k and v
    4096 + 1024, gate, up and down 4096 + 14336; over two ranks inputs stay whole where outputs are
    divided, and the reverse.
    """
    q, kv, mlp = 4096 + 4096, 4096 + 1024, 4096 + 14_336
    whole = 32 * (2 * q + 2 * kv + 3 * mlp)
    over_two = 32 * (2 * (4096 + 2048) + 2 * (4096 + 512) + 3 * (4096 + 7168))

    def added(split: Split, **more: Any) -> int:
        quant = native_quant(LLAMA_8B)
        sizes = weight_sizes(LLAMA_8B, quant, native=True)
        with_adapters, plain = (
            load(Placement(LLAMA_8B, workload, split), sizes).per_gpu.likely
            for workload in (Workload(max_loras=1, **more), Workload())
        )
        return with_adapters - plain

    assert added(Split()) == 16 * whole * 2
    assert added(Split(), max_lora_rank=64) == 64 * whole * 2 == round(0.3125 * GIB)
    assert added(Split(tensor=2)) == 16 * over_two * 2


def test_images_features_that_enter_the_first_layers_have_buffers() -> None:
    """Qwen3-VL-30B-A3B: three levels x 8,192 tokens of a step x 2,048 in 16 bits."""
    model = embedded("Qwen/Qwen3-VL-30B-A3B-Instruct")
    quant = native_quant(model)
    sizes = weight_sizes(model, quant, native=True)

    def on_one_gpu(engine: str, **asked: Any) -> int:
        placement = Placement(model, Workload(**asked), device_class=BIG)
        return load(placement, sizes, ENGINES[engine]).per_gpu.likely

    whole = 3 * 8192 * 2048 * 2
    assert on_one_gpu("vllm") - on_one_gpu("sglang") == whole
    assert on_one_gpu("vllm") - on_one_gpu("vllm", max_num_batched_tokens=4096) == whole // 2


def test_hips_libraries_lie_beside_the_weights() -> None:
    """Qwen2.5-7B on an AMD card of 64 GB: 14.25 GiB of weights, 14.37 printed."""
    sizes = weight_sizes(LLAMA_8B, native_quant(LLAMA_8B), native=True)
    hip, cuda = (
        load(Placement(LLAMA_8B, device_class=card), sizes).per_gpu.likely
        for card in (version_defaults.ROCM, 0)
    )
    assert hip - cuda == int(0.1 * GIB)


def test_deepseek_v4s_down_projections_and_compressors_are_on_every_rank() -> None:
    """DeepSeek-V4-Pro: 61 layers of (1536 + 512) x 7168 in FP8; 31 and 30 pairs of compressors
    of 512 and 1024 x 7168 in 16 bits."""
    model = embedded("deepseek-ai/DeepSeek-V4-Pro")
    plan = plan_of(model)
    whole = [
        group
        for group, most in zip(model.groups, plan.divisors, strict=True)
        if not most
        and group.part is Part.TEXT
        and group.kind is Kind.LINEAR
        and "indexer" not in group.pattern
    ]
    compressors = 2 * 2 * 7168 * (31 * 512 + 30 * 1024)
    assert sum(group.stored_bytes for group in whole) == 61 * 2048 * 7168 + compressors
    drafts = [
        group.pattern
        for group, most in zip(model.groups, plan.divisors, strict=True)
        if not most and group.part is Part.MTP and group.kind is Kind.LINEAR
    ]
    assert {"mtp.{}.e_proj.weight", "mtp.{}.h_proj.weight"} <= set(drafts)


def test_the_peak_is_the_sampler_or_a_step() -> None:
    logits, hidden = 4 * 1024 * 128_256, 8192 * 2 * 4096
    base = 0.08 * GIB + 1.5 * hidden
    assert peak(LLAMA_8B, BIG, engine_version="0.19") == pytest.approx(3.5 * logits + base, abs=1)
    sorting = 9.6 * logits + 0.8 * hidden  # 4.75 GiB; 4.76 as printed by 0.16
    assert round(sorting / GIB, 2) == 4.75
    assert peak(LLAMA_8B, BIG, engine_version="0.15") == pytest.approx(sorting, abs=1)
    fast = 3.5 * logits + base
    assert peak(LLAMA_8B, BIG, engine_version="0.11.0", sampler="flashinfer") == pytest.approx(
        fast, abs=1
    )
    asked = Workload(engine_version="0.11.0")
    open_question = VLLM.activations(Placement(LLAMA_8B, asked, device_class=BIG))
    assert open_question.likely == pytest.approx(sorting, abs=1)  # without a sampler, PyTorch sorts
    assert open_question.low < fast  # and the band reaches down to FlashInfer
    few = peak(LLAMA_8B, BIG, max_num_seqs=8, engine_version="0.22")
    assert few == 8192 * 2 * 3 * (14_336 + 4096)  # forward
    # V0 on a 3090 at 29,000 tokens: 110,592 B each, 2.99 GiB as logged
    assert peak(LLAMA_8B, engine_version="0.6.4", context=29_000) == 29_000 * 110_592


def test_the_second_runner_copies_logits_once_and_holds_one_state() -> None:
    """Qwen2.5-0.5B under 0.27.1, which printed 0.25 GiB: 6 bytes for each of 256 x 151,936 logits,
    a step's states, 32 MiB of cuBLAS."""
    small = embedded("Qwen/Qwen2.5-0.5B-Instruct")
    found = peak(small, engine_version="0.27.1")
    assert found == 6 * 256 * 151_936 + 2048 * 2 * 896 + 32 * MIB
    assert round(found / GIB, 2) == 0.25
    few = peak(LLAMA_8B, BIG, max_num_seqs=8, engine_version="0.23")
    assert few == 8192 * 2 * (3 * 14_336 + 4096)  # gate, up, down's input and one hidden state
    halved = VLLM.activations(
        Placement(LLAMA_8B, Workload(engine_version="0.23", max_num_seqs=8), Split(2), BIG)
    )
    assert halved.likely == 8192 * 2 * (3 * 14_336 // 2 + 4096)


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
    kinds: tuple[dict[str, Any], ...] = (
        {"library": "sentence-transformers"},
        {"pipeline_tag": "feature-extraction"},
    )
    for model_facts in kinds:
        model = replace(LLAMA_8B, **model_facts)
        assert peak(model, BIG, engine_version="0.22") == forward
    assert sequence(architecture(LLAMA_8B), 16) == 16 * 131_072  # its cache stays


def test_experts_keep_their_workspace() -> None:
    moe = build_profile(qwen3_moe())
    arch = architecture(moe)
    # 8192 tokens x 8 experts x (max(2 x 768, 2048) + max(768, 2048)) x 2 B
    workspace = 8192 * 8 * (2048 + 2048) * 2
    logits = 3.5 * 4 * 1024 * (arch.vocab_size or 0)
    base = 0.08 * GIB + 1.5 * 8192 * 2 * 2048
    assert peak(moe, BIG, engine_version="0.27") == pytest.approx(logits + base + workspace, abs=2)
    sorting = 9.6 * 4 * 1024 * (arch.vocab_size or 0) + 0.8 * 8192 * 2 * 2048
    kept, given_back = (peak(moe, BIG, engine_version=v) for v in ("0.14.0", "0.13.0"))
    assert kept == pytest.approx(sorting + workspace, abs=2)  # WorkspaceManager
    assert given_back == pytest.approx(sorting, abs=2)
    # MXFP4 kernels give theirs back
    assert peak(GPT_OSS, BIG, engine_version="0.27") == pytest.approx(
        3.5 * 4 * 1024 * 201_088 + 0.08 * GIB + 1.5 * 8192 * 2 * 2880, abs=2
    )


def overhead(card: int = 0, **asked: Any) -> Overhead:
    return VLLM.overhead(Placement(LLAMA_8B, Workload(**asked), device_class=card))


def test_shared_memory_counts_what_the_host_takes() -> None:
    card, chip = (overhead(c, enforce_eager=True) for c in (0, version_defaults.UNIFIED))
    assert chip.inside.likely - card.inside.likely == round(3.7 * GIB)
    assert chip.outside == card.outside


def test_communicators_by_link_and_version() -> None:
    def of(version: str, split: Split, card: int) -> float:
        return runtime.non_torch_bytes(split, card, vllm_release(version)) / GIB

    assert of("0.19.0", Split(2), BIG) == 2.08
    assert of("0.19.0", Split(2), 0) == 0.5
    assert of("0.15.0", Split(4), BIG) == 0.54
    assert of("0.19.0", Split(), BIG) == 0.25
    assert of("0.19.0", Split(pipeline=2), BIG) == 0.075
    # two and four A100 and four cards of 24 GB under 0.9 and 0.10; two of 32 and of 24 under 0.27
    assert of("0.10.1", Split(2), version_defaults.A100_CLASS) == 0.08
    assert of("0.27.1", Split(2), 0) == 0.65


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
