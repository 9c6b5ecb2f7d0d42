"""vLLM's rules, by hand: versions, weights as loaded, pages, peaks, graphs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.core.units import GIB, MIB
from gpusizer.fit.fit import Fitter, device_class_of, memory_of
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.engines.bands import ResidualBand, band
from gpusizer.memory.engines.vllm import extras, pages, runtime, version_defaults
from gpusizer.memory.engines.vllm.eras import all_eras, era_of
from gpusizer.memory.engines.vllm.weights import plan_of, rounded, stage_edges
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, Attention, LayerSpec
from gpusizer.model.architecture.rotary import Rotary
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part
from scrapers.embedded import EmbeddedSnapshots
from tests.builders import gemma3_1b, llama, qwen3_moe
from tests.families import deepseek_r1, gpt_oss_20b, qwen3_next

VLLM = ENGINES["vllm"]
SNAPSHOTS = EmbeddedSnapshots(SNAPSHOTS_DIR)
NOW = era_of(None)
LLAMA_8B = build_profile(llama())
DEEPSEEK = build_profile(deepseek_r1())
GPT_OSS = build_profile(gpt_oss_20b())
BIG = version_defaults.BIG_CLASS


def architecture(profile: ModelProfile) -> Architecture:
    assert profile.architecture is not None
    return profile.architecture


def loaded(
    profile: ModelProfile, split: Split, version: str | None = None, card: int = 0
) -> tuple[int, int]:
    """Bytes on the fullest GPU and on all of them, at the width of the files."""
    quant = native_quant(profile)
    load = VLLM.loader(profile, Workload(engine_version=version))
    bytes_loaded = load(weight_sizes(profile, quant, native=True), split, card, native=True)
    return bytes_loaded.per_gpu.likely, bytes_loaded.all_gpus.likely


def embedded(repo_id: str) -> ModelProfile:
    snapshot = SNAPSHOTS.get(repo_id)
    assert snapshot is not None
    return build_profile(snapshot)


def sequence(arch: Architecture, context: int, version: str | None = None, **more: object) -> int:
    workload = Workload(engine_version=version, **more)  # type: ignore[arg-type]
    return VLLM.sequence_bytes(arch, workload, Split(), BIG, context)


@pytest.mark.parametrize(
    ("version", "since", "generation"),
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
    era = era_of(version)
    assert (era.since, era.generation) == (since, generation)


def test_the_table_of_eras_is_in_order() -> None:
    eras = all_eras()
    assert [era.since for era in eras] == sorted({era.since for era in eras})
    sorting = [era.since for era in eras if era.sorts]
    assert max(sorting) < (0, 17, 0) and len(sorting) == sum(e.since < (0, 17, 0) for e in eras)


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
    arch = architecture(LLAMA_8B)
    limits = {
        c: version_defaults.limits_of(Workload(), arch, c, NOW)
        for c in version_defaults.DEVICE_CLASSES
    }
    assert [(batch_limits.tokens, batch_limits.sequences) for batch_limits in limits.values()] == [
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (8192, 1024),
        (8192, 1024),
        (8192, 1024),
        (16384, 1024),
        (16384, 1024),
    ]


def test_a_prompt_is_one_step_for_the_first_scheduler() -> None:
    def of(context: int) -> version_defaults.BatchLimits:
        workload = Workload(context=context, concurrency=4)
        return version_defaults.limits_of(workload, architecture(LLAMA_8B), 0, era_of("V0"))

    assert of(29_000) == version_defaults.BatchLimits(29_000, 256, True)
    assert of(40_000) == version_defaults.BatchLimits(
        2048, 256, False
    )  # chunked prefill turns itself on


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
    assert extras.absorbed_elements(DEEPSEEK, Split(8), era_of("0.6")) == 0
    # 0.7: 16 heads per rank x (1536 x 576 + 512 x 7168) elements in each of 61 layers
    folded = 61 * 16 * (1536 * 576 + 512 * 7168)
    assert extras.absorbed_elements(DEEPSEEK, Split(8), era_of("0.7.2")) == folded


@pytest.mark.parametrize(
    ("version", "card", "split", "share"),
    [
        ("0.10.1", version_defaults.A100_CLASS, 1, 3072 / 2880 * 2944 / 2880),  # Marlin
        ("0.10.1", version_defaults.A100_CLASS, 4, 3072 / 2880 * 768 / 720),
        ("0.14.1", BIG, 1, 1 + (3072 / 2880 - 1) * 32 / 34),  # Triton: values of one side
        ("0.19.0", BIG, 1, 1 + (3072 / 2880 * 2944 / 2880 - 1) * 32 / 34),
    ],
)
def test_mxfp4_experts_are_padded(version: str, card: int, split: int, share: float) -> None:
    sizes = weight_sizes(GPT_OSS, find_quant("mxfp4"), native=True)
    experts = 24 * 32 * 3 * 2880 * 2880 * 17 // 32
    extra = extras.padding_bytes(GPT_OSS, sizes, Split(split), era_of(version), card)
    assert extra == pytest.approx(experts * (share - 1) / split, rel=1e-6)


@pytest.mark.parametrize(
    ("rotary", "rows"),
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


def hybrid(*specs: LayerSpec) -> Architecture:
    layers = sum(spec.count for spec in specs)
    return replace(architecture(LLAMA_8B), layers=layers, layer_plan=specs)


def test_pages_of_sliding_layers_are_grouped() -> None:
    """Gemma-2-27B: 23 full and 23 sliding layers, windows of 4096, 8192 tokens a step."""
    full = LayerSpec(Attention.FULL, 23, 2048, 2048, 16)
    sliding = LayerSpec(Attention.SLIDING, 23, 2048, 2048, 16, window=4096)
    blocks = 512 + (512 + 1)  # the window and a step exceed the sequence; one block of slack
    assert sequence(hybrid(full, sliding), 8192) == blocks * 23 * 16 * 8192
    # before groups existed, every layer kept everything
    assert sequence(hybrid(full, sliding), 8192, "0.8.5") == 46 * 8192 * 8192


def test_groups_have_as_many_layers_as_the_rarest_kind() -> None:
    """Gemma-3-1B: 4 full layers, 22 sliding ones in 6 groups of 4, the last padded."""
    arch = architecture(build_profile(gemma3_1b()))
    blocks = 2048 // 16 + 6 * (-(-(511 + 1024) // 16) + 1)
    token = 2 * 256 * 2
    assert sequence(arch, 2048, max_num_batched_tokens=1024) == blocks * 4 * 16 * token


def test_smaller_heads_get_longer_blocks() -> None:
    """Gemma-4-26B: full layers cache half as much per token, so a page holds 32 of them."""
    arch = hybrid(
        LayerSpec(Attention.SLIDING, 25, 2048, 2048, 8, window=1024),
        LayerSpec(Attention.FULL, 5, 1024, 1024, 2),
    )
    pages_needed = 5 * (-(-(1023 + 4096) // 16) + 1) + 8192 // 32
    cache_bytes = sequence(arch, 8192, max_num_batched_tokens=4096)
    assert cache_bytes == pages_needed * 5 * 16 * 8192
    assert round(cache_bytes / GIB, 3) == 1.136  # as vLLM 0.20 logged


@pytest.mark.parametrize(
    ("version", "cached", "states"), [("0.19.0", False, 1), ("0.25", False, 1), ("0.25", True, 2)]
)
def test_recurrent_states_take_whole_pages(version: str, cached: bool, states: int) -> None:
    """Qwen3.6-27B: 48 states of 61,440 + 3,145,728 bytes, 16 layers of 4,096 bytes a token."""
    arch = hybrid(
        LayerSpec(
            Attention.RECURRENT, 48, state_elements=817_152, conv_elements=30_720, wide_state=True
        ),
        LayerSpec(Attention.FULL, 16, 1024, 1024, 4),
    )
    block = 784  # the least multiple of 16 whose page holds a state
    pages_needed = -(-4096 // block) + 3 * states
    found = sequence(arch, 4096, version, prefix_caching=cached)
    assert found == pages_needed * 16 * block * 4096


def test_purely_recurrent_models_keep_their_states() -> None:
    arch = hybrid(LayerSpec(Attention.RECURRENT, 4, state_elements=1000, conv_elements=200))
    assert sequence(arch, 10) == sequence(arch, 10_000) == 4 * 1000 * 2
    assert VLLM.longest_context(arch, Workload(), Split(), 0, 10**9) is None


def test_latents_by_version_and_type() -> None:
    arch = architecture(DEEPSEEK)
    assert sequence(arch, 16) == 16 * 61 * 576 * 2
    assert sequence(arch, 16, kv_dtype="fp8") == 16 * 61 * 576
    assert sequence(arch, 16, "0.7.2") == 16 * 61 * 640 * 2
    assert sequence(arch, 16, "0.6.3") == 16 * 61 * 2 * 128 * 256 * 2  # 192 padded to 256
    sparse = hybrid(replace(arch.layer_plan[0], count=61, indexer_width=128))
    assert sequence(sparse, 16) == 16 * 61 * (656 + 132)  # DeepSeek-V3.2: 48,068 B a token
    without_indexer = replace(
        arch.layer_plan[0], count=31
    )  # GLM-5.2: some layers use another's choice
    shared = hybrid(replace(without_indexer, count=30, indexer_width=128), without_indexer)
    assert sequence(shared, 16) == 16 * (61 * 656 + 30 * 132)
    assert sequence(sparse, 16, kv_dtype="bf16") == 16 * 61 * (576 * 2 + 132)


def test_windows_that_vllm_does_not_know() -> None:
    sliding = LayerSpec(Attention.SLIDING, 32, 96, 96, 1, window=512)
    phi = replace(hybrid(sliding), model_type="phi3")
    assert sequence(phi, 4096) == 32 * 4096 * 192 * 2
    assert sequence(hybrid(sliding), 4096, max_num_batched_tokens=16) < sequence(phi, 4096)
    chunked = hybrid(LayerSpec(Attention.CHUNKED, 32, 96, 96, 1, window=512))
    assert sequence(chunked, 4096) == sequence(phi, 4096)


def test_stages_cache_their_own_layers() -> None:
    half = VLLM.sequence_bytes(architecture(LLAMA_8B), Workload(), Split(1, 2), 0, 8192)
    assert half * 2 == sequence(architecture(LLAMA_8B), 8192)
    assert len(pages.cache_of(architecture(LLAMA_8B), "auto", Split(1, 3), 2048, NOW)) == 3


def peak(model: ModelProfile, card: int = 0, **workload: object) -> int:
    activations = VLLM.activations(model, Workload(**workload), Split(), card)  # type: ignore[arg-type]
    return activations.likely


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
    open_question = VLLM.activations(LLAMA_8B, Workload(engine_version="0.11.0"), Split(), BIG)
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


def test_graphs_follow_layers_and_sizes() -> None:
    assert [runtime.captured_sizes(n) for n in (1, 2, 8, 64, 256, 1024)] == [2, 3, 5, 19, 51, 51]
    arch, split = architecture(LLAMA_8B), Split()
    limits = version_defaults.BatchLimits(8192, 1024, True)
    whole = runtime.graph_bytes(arch, limits, split, era_of("0.19.0"))
    assert whole == pytest.approx((0.25 + 0.02 * 32) * GIB)
    old, new = (
        VLLM.overhead(LLAMA_8B, Workload(engine_version=v), split, BIG) for v in ("0.19", "0.25")
    )
    eager = VLLM.overhead(LLAMA_8B, Workload(enforce_eager=True), split, BIG)
    assert old.outside.likely > new.outside.likely == eager.outside.likely
    assert new.inside.likely > eager.inside.likely == old.inside.likely
    turn = VLLM.overhead(LLAMA_8B, Workload(engine_version="0.20.0"), split, BIG)
    assert turn.outside.likely == eager.outside.likely  # subtracted a release earlier than said
    assert turn.inside.likely - old.inside.likely == round(whole)


def test_amd_cards_hold_kernels_and_larger_graphs_outside_the_budget() -> None:
    arch, limits = architecture(LLAMA_8B), version_defaults.BatchLimits(2048, 256, True)
    graphs = runtime.graph_bytes(arch, limits, Split(), NOW, version_defaults.ROCM)
    assert graphs == pytest.approx(3.6 * (0.25 + 0.02 * 32) * GIB)
    cuda, hip = (
        VLLM.overhead(LLAMA_8B, Workload(), Split(), c) for c in (0, version_defaults.ROCM)
    )
    assert hip.inside.likely == round(0.25 * GIB) + round(0.5 * GIB) < hip.inside.high
    assert hip.outside.likely - VLLM.overhead(
        LLAMA_8B, Workload(enforce_eager=True), Split(), 0
    ).outside.likely == round(graphs)
    assert cuda.inside.likely > round(0.25 * GIB)


def test_shared_memory_counts_what_the_host_takes() -> None:
    eager = Workload(enforce_eager=True)
    card, chip = (VLLM.overhead(LLAMA_8B, eager, Split(), c) for c in (0, version_defaults.UNIFIED))
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


def test_bands() -> None:
    band_around = ResidualBand("gib", -1.0, 2.0, 9).around(
        3 * GIB, Provenance.FITTED, highest=4 * GIB
    )
    assert (band_around.low, band_around.likely, band_around.high) == (2 * GIB, 3 * GIB, 6 * GIB)
    band_around = ResidualBand("share", -0.5, 0.25, 9).around(100, Provenance.DERIVED)
    assert (band_around.low, band_around.likely, band_around.high) == (50, 100, 125)
    assert band("vllm", "V9", "graphs") == band("vllm", "any", "graphs")


MODELS = [LLAMA_8B, DEEPSEEK, GPT_OSS, build_profile(gemma3_1b()), build_profile(qwen3_next())]


@settings(max_examples=80, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    version=st.sampled_from([None, "0.8.5", "0.10.2", "0.19.0"]),
    context=st.integers(1, 120_000),
    more=st.integers(1, 60_000),
    card=st.sampled_from(version_defaults.DEVICE_CLASSES),
    split=st.sampled_from([Split(), Split(2), Split(8), Split(1, 3)]),
)
def test_more_context_never_takes_less(
    model: ModelProfile, version: str | None, context: int, more: int, card: int, split: Split
) -> None:
    workload = Workload(engine_version=version)
    arch = model.architecture
    per_gpu = VLLM.sequence_bytes(arch, workload, split, card, context)
    assert VLLM.sequence_bytes(arch, workload, split, card, context + more) >= per_gpu
    longest = VLLM.longest_context(arch, workload, split, card, per_gpu)
    assert longest is not None
    assert longest >= min(context, architecture(model).max_context or context)


@settings(max_examples=60, deadline=None)
@given(
    quant=st.sampled_from(["bf16", "fp8", "int8", "gptq-int4-g128", "awq-int4-g128", "nvfp4"]),
    split=st.sampled_from([Split(), Split(2), Split(4), Split(8), Split(1, 2), Split(2, 4)]),
    layers=st.integers(2, 40),
)
def test_more_bits_or_layers_or_fewer_gpus_never_take_less(
    quant: str, split: Split, layers: int
) -> None:
    def weights(slug: str, count: int, over: Split) -> int:
        profile = build_profile(llama(layers=count))
        sizes = weight_sizes(profile, find_quant(slug), native=False)
        return VLLM.loader(profile, Workload())(sizes, over, 0, native=False).per_gpu.likely

    amount = weights(quant, layers, split)
    assert weights("fp32", layers, split) >= amount
    assert weights(quant, layers + 1, split) >= amount
    assert weights(quant, layers, Split()) >= amount


@pytest.mark.parametrize("model", MODELS, ids=lambda model: architecture(model).model_type)
def test_a_bigger_card_never_holds_less(model: ModelProfile) -> None:
    """Over the catalogue's cards in order of memory, with the defaults vLLM has on each.

    A100s and the GB10 apart: they keep the defaults of small cards, and so hold more than others
    of their size.
    """
    quant = find_quant("bf16")
    fitter = Fitter(model, Workload(), [(quant, False)])
    cards = sorted(
        {
            (g.device_memory_bytes, g.name)
            for g in load_catalogue().gpus
            if not {"A100", "GB10"} & set(g.name.split())
        }
    )
    for split in (Split(), Split(8)):
        rooms = []
        for memory, name in cards:
            card = VLLM.device_class(memory, name)
            memory_estimate = fitter.estimate(quant, False, VLLM, split, card)
            rooms.append(
                (
                    memory_estimate.headroom_bytes(memory),
                    memory_estimate.headroom_bytes(memory, cautious=True),
                )
            )
        for smaller, larger in pairwise(rooms):
            assert larger[0] >= smaller[0] and larger[1] >= smaller[1]


def test_weights_without_an_architecture_are_all_loaded() -> None:
    model = replace(LLAMA_8B, architecture=None)
    sizes = weight_sizes(model, find_quant("bf16"), native=True)
    bytes_loaded = VLLM.loader(model, Workload())(sizes, Split(), 0, native=True)
    assert bytes_loaded.per_gpu.likely == sizes.total


def test_every_group_is_part_of_one_allocation() -> None:
    for model in MODELS:
        plan = plan_of(model)
        assert len(plan.piece) == plan.groups == len(model.groups)
        assert plan.stages(1) == (plan.count,)
        layers_of_stage = [sum(parts) for parts in zip(*plan.stages(2), strict=True)]
        assert layers_of_stage == pytest.approx(plan.count)


def test_draft_layers_and_the_text_alone_are_asked_for() -> None:
    quant = native_quant(DEEPSEEK)
    sizes = weight_sizes(DEEPSEEK, quant, native=True)

    def of(**workload: object) -> int:
        load = VLLM.loader(DEEPSEEK, Workload(**workload))  # type: ignore[arg-type]
        return load(sizes, Split(), 0, native=True).per_gpu.likely

    draft = [g for g in DEEPSEEK.groups if g.part is Part.MTP]
    shared = sum(g.stored_bytes for g in draft if g.kind in (Kind.EMBEDDING, Kind.OUTPUT))
    whole = sum(g.stored_bytes for g in draft)
    assert of(draft_tokens=1) - of() == pytest.approx(whole - shared, rel=0.01)
    arch = architecture(DEEPSEEK)
    assert sequence(arch, 16, draft_tokens=1) == 16 * 62 * 576 * 2
    llava = embedded("ybelkada/llava-1.5-7b-hf-awq")
    towers = sum(g.stored_bytes for g in llava.groups if g.part in (Part.VISION, Part.PROJECTOR))
    with_images, text = (
        VLLM.loader(llava, Workload(text_only=only))(
            weight_sizes(llava, native_quant(llava), native=True), Split(), 0, native=True
        ).per_gpu.likely
        for only in (False, True)
    )
    assert with_images - text == pytest.approx(towers, rel=0.01)
    assert peak(llava, BIG, text_only=True) < peak(llava, BIG)


def test_recurrent_pages_make_room_for_drafts() -> None:
    """Qwen3.8-27B INT4 with three drafted tokens: 340 pages of 800 tokens as logged, 17 layers.

    With prefix caching each group of recurrent layers holds one more (Qwen3.6-27B-FP8 at 4,096
    tokens: 12 pages of 784 tokens, 41.03 GiB for 71.42 sequences).
    """
    arch = hybrid(
        LayerSpec(
            Attention.RECURRENT, 48, state_elements=817_152, conv_elements=30_720, wide_state=True
        ),
        LayerSpec(Attention.FULL, 16, 1024, 1024, 4),
    )
    assert sequence(arch, 262_144, draft_tokens=3) == (328 + 3 * 4) * 17 * 800 * 4096
    page = 784 * 4096
    assert sequence(arch, 4096) == (6 + 3 * 1) * 16 * page
    assert sequence(arch, 4096, prefix_caching=True) == (6 + 3 * 2) * 16 * page


def test_v0_runs_a_batch_of_encoders() -> None:
    whisper = embedded("openai/whisper-large-v3")
    states = 3 * 2 * 256 * 1500 * 1280
    assert peak(whisper, engine_version="0.10.0 V0", context=448) >= states
    assert peak(whisper, engine_version="0.19.0", context=448) < states


def test_the_share_is_of_the_total_that_pytorch_sees() -> None:
    """An RTX 3090: nvidia-smi says 24,576 MiB, torch.cuda.mem_get_info() 24,133 (vLLM's logs)."""
    gpu = load_catalogue().find("RTX 3090")
    assert memory_of(VLLM, gpu) == memory_of(ENGINES["sglang"], gpu) == 24133 * MIB
    assert memory_of(ENGINES["llama.cpp"], gpu) == 24576 * MIB
    workload = Workload(memory_utilization=0.9, enforce_eager=True)
    quant = native_quant(LLAMA_8B)
    fitter = Fitter(LLAMA_8B, workload, [(quant, True)])
    fit = fitter.fit_on(gpu, 1, quant, True, VLLM)
    assert fit is not None
    parts = fit.estimate.per_gpu
    taken = parts.weights.likely + parts.activations.likely + parts.overhead.likely
    assert fit.kv_pool_bytes == int(0.9 * 24133 * MIB) - taken


def sequence_of(profile: ModelProfile, version: str | None = None, **asked: str) -> int:
    """Cache of one sequence of 8,192 tokens of the checkpoint as stored."""
    workload = Workload(context=8192, engine_version=version, **asked)  # type: ignore[arg-type]
    quant = native_quant(profile)
    fitter = Fitter(profile, workload, [(quant, True)])
    return fitter.estimate(quant, True, VLLM, Split()).per_gpu.kv_cache.likely


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
    fitter = Fitter(profile, Workload(context=8192), [(bf16, False)])
    estimate = fitter.estimate(bf16, False, VLLM, Split())
    assert (estimate.kv_dtype, estimate.per_gpu.kv_cache.likely) == ("auto", 2 * 8192 * 73_728)


def test_weights_in_fp32_have_an_fp32_cache_and_activations() -> None:
    """Llama 3.1 8B: 32 x 2 x 8 x 128 x 4 = 262,144 bytes a token; vLLM printed 262,163."""
    fitter = Fitter(LLAMA_8B, Workload(context=8192), [])
    wide, narrow = (
        fitter.estimate(find_quant(slug), False, VLLM, Split()) for slug in ("fp32", "bf16")
    )
    assert wide.per_gpu.kv_cache.likely == 8192 * 262_144
    assert wide.per_gpu.activations.likely > narrow.per_gpu.activations.likely


def test_draft_layers_are_divided_like_the_decoder() -> None:
    """DeepSeek-R1's draft layer: experts and attention over eight ranks, the joint projection
    (7168 x 14336 in 16 bits) whole on each."""
    quant = native_quant(DEEPSEEK)
    sizes = weight_sizes(DEEPSEEK, quant, native=True)

    def of(split: Split, drafts: int) -> int:
        load = VLLM.loader(DEEPSEEK, Workload(draft_tokens=drafts))
        return load(sizes, split, 0, native=True).per_gpu.likely

    def added(split: Split) -> int:
        return of(split, 1) - of(split, 0)

    drafts = [g for g in DEEPSEEK.groups if g.part is Part.MTP]
    experts = sum(g.stored_bytes for g in drafts if g.kind is Kind.EXPERT)
    joint = next(g.stored_bytes for g in drafts if "eh_proj" in g.pattern)
    assert experts > 10 * GIB and joint == 2 * 7168 * 14336
    for split in (Split(tensor=8), Split(tensor=8, expert=8)):
        assert added(split) < added(Split()) / 8 + joint + 0.1 * GIB
        assert added(split) > experts / 8 + joint


def test_the_pool_is_what_the_share_leaves_whatever_lies_outside() -> None:
    """With all of an RTX 3090 asked for the CUDA context finds no room, but a pool is printed."""
    gpu = load_catalogue().find("RTX 3090")
    quant = native_quant(LLAMA_8B)
    fitter = Fitter(LLAMA_8B, Workload(memory_utilization=1.0), [(quant, True)])
    fit = fitter.fit_on(gpu, 1, quant, True, VLLM)
    assert fit is not None
    taken = fit.estimate.budgeted.likely - fit.estimate.per_gpu.kv_cache.likely
    assert fit.kv_pool_bytes == 24133 * MIB - taken
    assert fit.headroom_bytes == fit.kv_pool_bytes - (
        fit.estimate.per_gpu.kv_cache.likely + fit.estimate.per_gpu.outside.likely
    )


def inside_budget(model: ModelProfile, version: str, **more: object) -> int:
    workload = Workload(engine_version=version, **more)  # type: ignore[arg-type]
    return VLLM.overhead(model, workload, Split(), BIG).inside.likely


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


def test_the_warm_up_of_gated_delta_rules_counts_as_graphs() -> None:
    """Qwen3-Next: 32 heads of 128 values, 16 bytes for each and each of 8,192 tokens: 0.5 GiB."""
    model = build_profile(qwen3_next())
    after, before, eager = (
        peak(model, BIG, engine_version=version, enforce_eager=eager)
        for version, eager in (("0.26.0", False), ("0.25.0", False), ("0.26.0", True))
    )
    assert after - before == after - eager == 8192 * 16 * 32 * 128 == GIB // 2


def test_the_engine_keeps_compressors_states_for_a_whole_step() -> None:
    """DeepSeek-V4-Flash, 912,128 tokens in steps of 8,192: issue 51041 reports 7.01 GiB for 1.11.

    Blocks of 64 entries of 584 bytes and 64 indexer keys of 132; windows of 128 + 8,192 tokens, of
    compressor states 8 (blocks of 4, 21 layers) and 128 (blocks of 8, 20 layers).
    """
    arch = architecture(embedded("deepseek-ai/DeepSeek-V4-Flash"))
    page, keys, blocks = 64 * 584, 64 * 132, -(-912_128 // 256)
    windows = 43 * (-(-(127 + 8192) // 64) + 1) * page
    fours = 21 * (blocks + -(-(7 + 8192) // 4) + 1) * (page + keys)
    rest = 20 * (blocks * 2 * 584 + (-(-(127 + 8192) // 8) + 1) * page)
    found = sequence(arch, 912_128)
    assert found == windows + fours + rest
    assert found == pytest.approx(7.01 * GIB / 1.11, rel=0.05)


def test_buffers_for_nvlink_need_peers() -> None:
    """Two H100 hold 2.08 GiB of communicators each since 0.18; two RTX PRO 6000, as large but on
    PCIe alone, what other cards hold there."""
    catalogue = load_catalogue()

    def inside(name: str) -> float:
        card = device_class_of(VLLM, catalogue.find(name))
        eager = Workload(engine_version="0.19.0", enforce_eager=True)
        return VLLM.overhead(LLAMA_8B, eager, Split(tensor=2), card).inside.likely / GIB

    assert inside("H100 SXM") == pytest.approx(2.08)
    assert inside("RTX PRO 6000") == inside("RTX 4090") == pytest.approx(0.5)
    assert inside("A100 SXM4 80GB") == inside("RTX 4090")  # no switches that add up


def test_adapters_have_buffers_beside_every_linear() -> None:
    """Llama 3.1 8B, in a layer: q and o 4096 + 4096 numbers for each unit of rank, k and v
    4096 + 1024, gate, up and down 4096 + 14336; over two ranks inputs stay whole where outputs are
    divided, and the reverse.
    """
    q, kv, mlp = 4096 + 4096, 4096 + 1024, 4096 + 14_336
    whole = 32 * (2 * q + 2 * kv + 3 * mlp)
    over_two = 32 * (2 * (4096 + 2048) + 2 * (4096 + 512) + 3 * (4096 + 7168))

    def added(split: Split, **more: int) -> int:
        quant = native_quant(LLAMA_8B)
        sizes = weight_sizes(LLAMA_8B, quant, native=True)
        with_adapters, plain = (
            VLLM.loader(LLAMA_8B, workload)(sizes, split, 0, native=True).per_gpu.likely
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

    def on_one_gpu(engine: str, **asked: int) -> int:
        load = ENGINES[engine].loader(model, Workload(**asked))  # type: ignore[arg-type]
        return load(sizes, Split(), BIG, native=True).per_gpu.likely

    whole = 3 * 8192 * 2048 * 2
    assert on_one_gpu("vllm") - on_one_gpu("sglang") == whole
    assert on_one_gpu("vllm") - on_one_gpu("vllm", max_num_batched_tokens=4096) == whole // 2


def test_hips_libraries_lie_beside_the_weights() -> None:
    """Qwen2.5-7B on an AMD card of 64 GB: 14.25 GiB of weights, 14.37 printed."""
    sizes = weight_sizes(LLAMA_8B, native_quant(LLAMA_8B), native=True)
    load = VLLM.loader(LLAMA_8B, Workload())
    hip, cuda = (
        load(sizes, Split(), card, native=True).per_gpu.likely
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
