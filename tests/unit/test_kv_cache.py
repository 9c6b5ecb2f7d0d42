"""KV cache bytes, by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.core.units import GIB
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.kv_cache import element_bytes, kv_cache_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, Attention, LayerSpec
from gpusizer.model.profile import build_profile
from scrapers.embedded import EmbeddedSnapshots
from tests.builders import llama
from tests.each import each
from tests.families import deepseek_r1, gemma3_1b, qwen3_next
from tests.vllm_models import placed


def architecture_of(snapshot: RepoSnapshot) -> Architecture:
    architecture = build_profile(snapshot).architecture
    assert architecture is not None
    return architecture


LLAMA_8B = architecture_of(llama())
GEMMA_1B = architecture_of(gemma3_1b())
DEEPSEEK = architecture_of(deepseek_r1())


def test_grouped_query_attention() -> None:
    # 32 layers x (8 x 128 keys + 8 x 128 values) x 2 bytes = 131,072 bytes per token
    assert kv_cache_bytes(LLAMA_8B, 1, 1, "auto") == 131_072
    assert kv_cache_bytes(LLAMA_8B, 8192, 4, "auto") == 131_072 * 8192 * 4


@pytest.mark.parametrize(
    ("kv_dtype", "share"),
    [("fp8", Fraction(1, 2)), ("q8_0", Fraction(34, 64)), ("q4_0", Fraction(18, 64))],
)
def test_narrow_caches_count_their_scales(kv_dtype: str, share: Fraction) -> None:
    assert kv_cache_bytes(LLAMA_8B, 256, 1, kv_dtype) == 131_072 * 256 * share


def test_heads_are_divided_until_one_is_left() -> None:
    cache_bytes = kv_cache_bytes(LLAMA_8B, 1000, 1, "auto")
    assert kv_cache_bytes(LLAMA_8B, 1000, 1, "auto", shards=4) == cache_bytes // 4
    assert kv_cache_bytes(LLAMA_8B, 1000, 1, "auto", shards=8) == cache_bytes // 8
    # eight heads over sixteen GPUs: each still holds a whole one
    assert kv_cache_bytes(LLAMA_8B, 1000, 1, "auto", shards=16) == cache_bytes // 8


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


@each(
    "spec, context, cached",
    [
        (LayerSpec(Attention.FULL, 3, 8, 8), 100_000, 3 * 100_000 * 16 * 2),
        (LayerSpec(Attention.SLIDING, 1, 8, 8, window=512), 100_000, 512 * 16 * 2),
        (LayerSpec(Attention.SLIDING, 1, 8, 8, window=512), 100, 100 * 16 * 2),
        (LayerSpec(Attention.SLIDING, 1, 8, 8), 100, 100 * 16 * 2),  # the window is unknown
        (LayerSpec(Attention.RECURRENT, 2, state_elements=9), 100, 2 * 9 * 4),
        (LayerSpec(Attention.CROSS, 1), 100, 0),
    ],
)
def test_cache_bytes_of_each_kind_of_layer(spec: LayerSpec, context: int, cached: int) -> None:
    one_layer = replace(LLAMA_8B, layer_plan=(spec,))
    assert kv_cache_bytes(one_layer, context, 1, "auto") == cached


def test_cells_are_padded_as_the_engine_pads_them() -> None:
    assert kv_cache_bytes(LLAMA_8B, 1000, 1, "auto", cell_multiple=256) == 131_072 * 1024


def test_an_unknown_cache_type_is_an_error() -> None:
    with pytest.raises(KeyError):
        element_bytes("int3")


@given(
    pool=st.integers(0, 64 * 2**30),
    split=st.sampled_from([Split(), Split(tensor=4), Split(pipeline=2)]),
    kv_dtype=st.sampled_from(["auto", "fp8", "q8_0", "q4_0"]),
    arch=st.sampled_from([LLAMA_8B, GEMMA_1B, DEEPSEEK]),
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
