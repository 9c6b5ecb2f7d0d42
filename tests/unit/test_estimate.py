"""Memory estimates: the cache, provenance, division over GPUs, and growth with every input."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gpusizer.core.errors import UnknownEngine
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.core.units import GIB
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.memory.engines import ENGINES, Split, SplitBy, find_engine
from gpusizer.memory.engines.abilities import Abilities
from gpusizer.memory.engines.base import BudgetRule
from gpusizer.memory.estimate import Estimator, MemoryEstimate
from gpusizer.memory.kv_cache import element_bytes, kv_cache_bytes
from gpusizer.memory.quants import all_quants, find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.architecture.layer_kinds import (
    CrossAttention,
    FullAttention,
    RecurrentLayer,
    SlidingAttention,
)
from gpusizer.model.profile import ModelProfile, build_profile
from scrapers.cache.stored import EmbeddedSnapshots
from tests.builders import llama
from tests.families import deepseek_r1, gemma3_1b, gpt2, gpt_oss_20b, qwen3_moe, qwen3_next
from tests.packed_layouts import LAYOUTS
from tests.vllm_models import placed


def architecture_of(snapshot: RepoSnapshot) -> Architecture:
    architecture = build_profile(snapshot).architecture
    assert architecture is not None
    return architecture


LLAMA = architecture_of(llama())
GEMMA_1B = architecture_of(gemma3_1b())
DEEPSEEK = architecture_of(deepseek_r1())


def test_engines_state_what_the_types_allow() -> None:
    """The fields of `abilities.toml` are words of the types that the rest of the code compares."""
    abilities = TypeAdapter(Abilities)
    for engine in ENGINES.values():
        assert abilities.validate_python(asdict(engine.abilities)) == engine.abilities
    assert {engine.budget_rule for engine in ENGINES.values()} <= set(get_args(BudgetRule))
    assert {engine.split_by for engine in ENGINES.values()} <= set(get_args(SplitBy))


def test_grouped_query_attention() -> None:
    # 32 layers x (8 x 128 keys + 8 x 128 values) x 2 bytes = 131,072 bytes per token
    assert kv_cache_bytes(LLAMA, 1, 1, "auto") == 131_072
    assert kv_cache_bytes(LLAMA, 8192, 4, "auto") == 131_072 * 8192 * 4


@pytest.mark.parametrize(
    ("kv_dtype", "share"),
    [("fp8", Fraction(1, 2)), ("q8_0", Fraction(34, 64)), ("q4_0", Fraction(18, 64))],
)
def test_narrow_caches_count_their_scales(kv_dtype: str, share: Fraction) -> None:
    assert kv_cache_bytes(LLAMA, 256, 1, kv_dtype) == 131_072 * 256 * share


def test_heads_are_divided_until_one_is_left() -> None:
    cache_bytes = kv_cache_bytes(LLAMA, 1000, 1, "auto")
    assert kv_cache_bytes(LLAMA, 1000, 1, "auto", shards=4) == cache_bytes // 4
    assert kv_cache_bytes(LLAMA, 1000, 1, "auto", shards=8) == cache_bytes // 8
    # eight heads over sixteen GPUs: each still holds a whole one
    assert kv_cache_bytes(LLAMA, 1000, 1, "auto", shards=16) == cache_bytes // 8


def test_the_mla_latent_is_replicated() -> None:
    # 61 layers x (512 + 64) x 2 bytes
    assert kv_cache_bytes(DEEPSEEK, 1, 1, "auto") == 70_272
    assert kv_cache_bytes(DEEPSEEK, 1, 1, "auto", shards=8) == 70_272


def test_sliding_layers_stop_growing_at_their_window() -> None:
    # Gemma 3 1B: 26 layers, every 6th full (4), 22 with a window of 512; 1 KV head of 256
    per_layer = (256 + 256) * 2
    assert kv_cache_bytes(GEMMA_1B, 512, 1, "auto") == 26 * per_layer * 512
    assert kv_cache_bytes(GEMMA_1B, 8192, 1, "auto") == per_layer * (4 * 8192 + 22 * 512)


def test_recurrent_layers_keep_a_fixed_state() -> None:
    hybrid = architecture_of(qwen3_next())
    # 36 gated-delta layers: 3 x (2 x 2048 + 4096) + 32 x 128 x 128 = 548,864 FP32 values each;
    # llama.cpp logs 75.38 MiB for it. 12 attention layers: 2 x 2 heads x 256 x 2 bytes.
    state, token = 36 * 548_864 * 4, 12 * 2048
    assert round(state / 2**20, 2) == 75.38
    assert kv_cache_bytes(hybrid, 1000, 1, "auto") == state + 1000 * token
    assert kv_cache_bytes(hybrid, 1000, 3, "auto") == 3 * (state + 1000 * token)


@pytest.mark.parametrize(
    "run, context, cached",
    [
        (LayerRun(FullAttention(8, 8), 3), 100_000, 3 * 100_000 * 16 * 2),
        (LayerRun(SlidingAttention(8, 8, window=512)), 100_000, 512 * 16 * 2),
        (LayerRun(SlidingAttention(8, 8, window=512)), 100, 100 * 16 * 2),
        (LayerRun(SlidingAttention(8, 8)), 100, 100 * 16 * 2),  # the window is unknown
        (LayerRun(RecurrentLayer(9), 2), 100, 2 * 9 * 4),
        (LayerRun(CrossAttention()), 100, 0),
    ],
)
def test_cache_bytes_of_each_kind_of_layer(run: LayerRun, context: int, cached: int) -> None:
    one_layer = replace(LLAMA, layer_plan=(run,))
    assert kv_cache_bytes(one_layer, context, 1, "auto") == cached


def test_cells_are_padded_as_the_engine_pads_them() -> None:
    assert kv_cache_bytes(LLAMA, 1000, 1, "auto", cell_multiple=256) == 131_072 * 1024


def test_an_unknown_cache_type_is_an_error() -> None:
    with pytest.raises(KeyError):
        element_bytes("int3")


@given(
    pool=st.integers(0, 64 * 2**30),
    split=st.sampled_from([Split(), Split(tensor=4), Split(pipeline=2)]),
    kv_dtype=st.sampled_from(["auto", "fp8", "q8_0", "q4_0"]),
    arch=st.sampled_from([LLAMA, GEMMA_1B, DEEPSEEK]),
    engine=st.sampled_from(["transformers", "vllm", "sglang", "llama.cpp"]),
)
def test_the_longest_context_is_the_longest(
    pool: int, split: Split, kv_dtype: str, arch: Architecture, engine: str
) -> None:
    rules, limit = ENGINES[engine], arch.max_context or 0
    placement = placed(arch, Workload(kv_dtype=kv_dtype), split=split)
    longest = rules.longest_context(placement, pool)
    assert longest is not None and longest <= limit
    if longest > 0:
        assert rules.sequence_bytes(placement, longest) <= pool
    if longest < limit:
        assert rules.sequence_bytes(placement, longest + 1) > pool


def test_compressed_layers_grow_with_the_context() -> None:
    """DeepSeek-V4-Pro at 1,048,576 tokens in 16 bits: 30 layers keep an entry of 512 and an indexer
    key of 128 for every 4 tokens, 31 an entry for every 128, all 61 a window of 128: 9.62 GiB, as
    the engine's blog says (vLLM, 2026-04-24).
    """
    snapshot = EmbeddedSnapshots(SNAPSHOTS_DIR).get("deepseek-ai/DeepSeek-V4-Pro")
    assert snapshot is not None
    arch = build_profile(snapshot).architecture
    assert arch is not None
    context = 1_048_576
    by_hand = 2 * (30 * context // 4 * 640 + 31 * context // 128 * 512 + 61 * 128 * 512)
    assert kv_cache_bytes(arch, context, 1, "bf16") == by_hand
    assert round(by_hand / GIB, 2) == 9.62


LLAMA_8B = build_profile(llama())
MOE = build_profile(qwen3_moe())


def estimate(
    profile: ModelProfile = LLAMA_8B,
    quant: str = "bf16",
    engine: str = "vllm",
    split: Split | None = None,
    device_class: int = 0,
    **workload: object,
) -> MemoryEstimate:
    found_quant = find_quant(quant)
    native = native_quant(profile).slug == quant
    sizes = weight_sizes(profile, found_quant, native=native)
    estimator = Estimator(profile, Workload(**workload))
    return estimator.estimate(
        found_quant,
        ENGINES[engine],
        sizes,
        split or Split(),
        native=native,
        device_class=device_class,
    )


def test_weights_as_stored_are_exact_to_the_byte() -> None:
    result = estimate(engine="transformers")
    assert result.all_gpus.weights.likely == 16_060_522_496
    assert result.all_gpus.provenance == {
        "weights": "exact",
        "kv_cache": "derived",
        "activations": "fitted",
        "overhead": "fitted",
    }


def test_a_serving_engine_adds_to_the_weights_by_known_rules() -> None:
    result = estimate()
    # a rotary table of 131,072 positions x 128 x 2 B; every matrix is whole MiB already
    assert result.all_gpus.weights.likely == 16_060_522_496 + 32 * 2**20
    assert result.all_gpus.provenance["weights"] == "derived"


def test_weights_of_another_width_are_derived() -> None:
    assert estimate(quant="q4_k_m", engine="llama.cpp").all_gpus.provenance["weights"] == "derived"


def test_a_total_is_the_sum_of_its_parts() -> None:
    undivided = estimate(context=8192).all_gpus
    parts = (
        undivided.weights,
        undivided.kv_cache,
        undivided.activations,
        undivided.overhead,
        undivided.outside,
    )
    assert undivided.total.likely == sum(part.likely for part in parts)
    assert undivided.total.low < undivided.total.likely < undivided.total.high


def test_llama_cpp_compute_buffer_follows_the_vocabulary() -> None:
    # 512 tokens x (128,256 logits + 4096 hidden and 14,336 MLP values) x 4 B
    result = estimate(quant="q8_0", engine="llama.cpp", engine_version="b7900")
    assert result.per_gpu.activations.likely == 512 * (128_256 + 4096 + 14_336) * 4


def test_tensor_parallel_divides_matrices_and_repeats_norms() -> None:
    two = estimate(engine="tgi", split=Split(tensor=2))
    norms = (2 * 32 + 1) * 4096 * 2
    assert two.per_gpu.weights.likely == norms + (16_060_522_496 - norms) // 2
    assert two.all_gpus.weights.likely == 16_060_522_496 + norms
    assert two.per_gpu.kv_cache.likely == estimate(engine="tgi").per_gpu.kv_cache.likely // 2


def test_pipeline_stages_hold_whole_layers() -> None:
    """32 layers in 3 stages: the fullest holds 11 of them and the rest of the model."""
    three = estimate(quant="bf16", engine="tgi", split=Split(pipeline=3))
    layers = three.sizes.in_layers
    outside = three.sizes.total - layers
    assert three.per_gpu.weights.likely == outside + -(-layers * 11 // 32)
    assert three.all_gpus.weights.likely == three.sizes.total


def test_headroom_counts_the_budget_and_the_card() -> None:
    result = estimate(context=8192)
    card = 24 * GIB
    budget = int(card * 0.92)
    assert result.spare(card)[0] == min(
        card - result.per_gpu.total.likely, budget - result.budgeted.likely
    )
    assert result.spare(card)[1] < result.spare(card)[0]
    assert result.pool_bytes(card) == result.spare(card)[0] + result.per_gpu.kv_cache.likely


def test_a_moe_model_reads_only_chosen_experts_but_holds_all() -> None:
    sizes = weight_sizes(MOE, find_quant("bf16"), native=True)
    assert sizes.total == MOE.weight_bytes
    # 48 layers x 128 experts x 3 matrices of 768 x 2048 x 2 B
    assert sizes.experts == 48 * 128 * 3 * 768 * 2048 * 2


def packed(layout: str) -> ModelProfile:
    """Llama-3.1-8B stored in one of the packed layouts, with its `quantization_config`."""
    linear, config = LAYOUTS[layout]
    return build_profile(llama(linear=linear, config={"quantization_config": config}))


@pytest.mark.parametrize(
    "profile, slug, loaded_bytes",
    [
        (LLAMA_8B, "bf16", 16_060_522_496),
        # causal masks (12 x 1024 x 1024 x 4 B) are in the file, not in memory
        (build_profile(gpt2()), "fp32", 124_439_808 * 4),
        (build_profile(gpt_oss_20b()), "mxfp4", 13_761_264_768),
        (build_profile(deepseek_r1()), "fp8", 688_574_839_360),
        (packed("gptq-4"), "gptq-int4-g128", None),
        (packed("awq"), "awq-int4-g128", None),
        (packed("bnb-nf4"), "bnb-nf4-dq", None),
        (packed("w4a16"), "compressed-tensors-4bit", None),
        (packed("mlx-4"), "mlx-4bit", None),
        (packed("nvfp4"), "nvfp4", None),
    ],
)
def test_the_native_row_is_what_is_stored(
    profile: ModelProfile, slug: str, loaded_bytes: int | None
) -> None:
    native = native_quant(profile)
    assert native.slug == slug
    loaded = weight_sizes(profile, native, native=True).total
    assert loaded == (profile.weight_bytes if loaded_bytes is None else loaded_bytes)


def test_compressed_tensors_of_any_width_run_in_several_servers() -> None:
    assert set(native_quant(packed("w4a16")).engines) >= {"vllm", "sglang", "tgi"}


def test_an_unknown_engine_suggests_known_ones() -> None:
    with pytest.raises(UnknownEngine) as caught:
        find_engine("vlm")
    assert "vllm" in (caught.value.fields["suggestions"] or [])


SLUGS = [quant.slug for quant in all_quants()]


@settings(max_examples=60)
@given(
    quant=st.sampled_from(SLUGS),
    engine=st.sampled_from(sorted(ENGINES)),
    context=st.integers(1, 131_072),
    users=st.integers(1, 32),
)
def test_more_work_never_needs_less(quant: str, engine: str, context: int, users: int) -> None:
    base = estimate(quant=quant, engine=engine, context=context, concurrency=users)
    longer = estimate(quant=quant, engine=engine, context=context * 2, concurrency=users)
    busier = estimate(quant=quant, engine=engine, context=context, concurrency=users + 1)
    for more in (longer, busier):
        assert more.all_gpus.total.likely >= base.all_gpus.total.likely
        assert more.all_gpus.total.high >= base.all_gpus.total.high


@settings(max_examples=40)
@given(
    quant=st.sampled_from(SLUGS),
    engine=st.sampled_from(["vllm", "llama.cpp"]),
    memory=st.integers(GIB, 300 * GIB),
    more=st.integers(0, 100 * GIB),
)
def test_a_bigger_card_never_fits_less(quant: str, engine: str, memory: int, more: int) -> None:
    result = estimate(quant=quant, engine=engine)
    assert result.spare(memory + more)[0] >= result.spare(memory)[0]
    assert result.pool_bytes(memory + more) >= result.pool_bytes(memory)
