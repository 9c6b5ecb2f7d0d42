"""Pages of vLLM's cache: groups of layers, recurrent states, windows, stages, drafts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.units import GIB
from gpusizer.memory.engines import Placement, Split, StartLimit
from gpusizer.memory.engines.vllm import pages, version_defaults
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.architecture.layer_kinds import (
    ChunkedAttention,
    FullAttention,
    IndexedAttention,
    RecurrentLayer,
    SlidingAttention,
)
from gpusizer.model.profile import build_profile
from tests.families import gemma3_1b
from tests.vllm_models import (
    BIG,
    DEEPSEEK,
    LLAMA_8B,
    NOW,
    VLLM,
    architecture,
    embedded,
    hybrid,
    placed,
    sequence,
)


def test_pages_of_sliding_layers_are_grouped() -> None:
    """Gemma-2-27B: 23 full and 23 sliding layers, windows of 4096, 8192 tokens a step."""
    full = LayerRun(FullAttention(2048, 2048, 16), 23)
    sliding = LayerRun(SlidingAttention(2048, 2048, 16, window=4096), 23)
    blocks = 512 + (512 + 1)  # the window and a step exceed the sequence; one block of slack
    assert sequence(hybrid(full, sliding), 8192) == blocks * 23 * 16 * 8192
    # before groups existed, every layer kept everything
    assert sequence(hybrid(full, sliding), 8192, "0.8.5") == 46 * 8192 * 8192


def test_groups_have_as_many_layers_as_the_rarest_kind() -> None:
    """Gemma-3-1B: 4 full layers, 22 sliding ones in 6 groups of 4, the last padded."""
    arch = architecture(build_profile(gemma3_1b()))
    blocks = 2048 // 16 + 6 * (-(-(511 + 1024) // 16) + 1)
    token = 2 * 256 * 2
    assert sequence(arch, 2048, "0.25", max_num_batched_tokens=1024) == blocks * 4 * 16 * token


def test_smaller_heads_get_longer_blocks() -> None:
    """Gemma-4-26B: full layers cache half as much per token, so a page holds 32 of them."""
    arch = hybrid(
        LayerRun(SlidingAttention(2048, 2048, 8, window=1024), 25),
        LayerRun(FullAttention(1024, 1024, 2), 5),
    )
    pages_needed = 5 * (-(-(1023 + 4096) // 16) + 1) + 8192 // 32
    cache_bytes = sequence(arch, 8192, "0.20.0", max_num_batched_tokens=4096)
    assert cache_bytes == pages_needed * 5 * 16 * 8192
    assert round(cache_bytes / GIB, 3) == 1.136  # as vLLM 0.20 logged


RECURRENT = LayerRun(RecurrentLayer(817_152, conv_elements=30_720, wide_state=True), 48)
QWEN_27B = hybrid(RECURRENT, LayerRun(FullAttention(1024, 1024, 4), 16))


@pytest.mark.parametrize(
    ("version", "cached", "states"), [("0.19.0", False, 1), ("0.25", False, 1), ("0.25", True, 2)]
)
def test_recurrent_states_take_whole_pages(version: str, cached: bool, states: int) -> None:
    """Qwen3.6-27B: 48 states of 61,440 + 3,145,728 bytes, 16 layers of 4,096 bytes a token."""
    block = 784  # the least multiple of 16 whose page holds a state
    pages_needed = -(-4096 // block) + 3 * states
    found = sequence(QWEN_27B, 4096, version, prefix_caching=cached)
    assert found == pages_needed * 16 * block * 4096


def test_a_batch_has_a_block_for_every_state() -> None:
    """Qwen3.6-27B: blocks of 784 tokens in 16 layers, 51,380,224 bytes. 939 of them, as vLLM
    counted for Qwen3.8-27B in FP8 on 96 GB, hold no batch of 1,024."""
    block = 16 * 784 * 4096

    def limit(
        pool: int, arch: Architecture = QWEN_27B, card: int = BIG, **asked: Any
    ) -> StartLimit | None:
        workload = Workload(**asked)
        return VLLM.start_limit(placed(arch, workload, device_class=card), pool)

    # four fifths are sure, in steps of the sizes of graphs
    assert limit(939 * block + 5) == StartLimit(asked=1024, most=939, sure=736)
    assert limit(1144 * block) == StartLimit(asked=1024, most=1144, sure=912)
    assert limit(1300 * block) is None  # 1,040 are sure
    assert limit(939 * block, card=0) is None  # 256 there
    assert limit(939 * block, max_num_seqs=736) is None
    asked = limit(939 * block, max_num_seqs=2048)
    assert asked == StartLimit(asked=2048, most=939, sure=736)
    assert limit(939 * block, enforce_eager=True) is None
    assert limit(939 * block, engine_version="0.19.1") is None  # captures fewer graphs
    assert limit(939 * block, card=BIG + version_defaults.XPU) is None  # captures none
    assert limit(1, architecture(LLAMA_8B)) is None


def test_purely_recurrent_models_keep_their_states() -> None:
    arch = hybrid(LayerRun(RecurrentLayer(1000, conv_elements=200), 4))
    assert sequence(arch, 10) == sequence(arch, 10_000) == 4 * 1000 * 2
    assert VLLM.longest_context(placed(arch), 10**9) is None


def test_latents_by_version_and_type() -> None:
    arch = architecture(DEEPSEEK)
    assert sequence(arch, 16) == 16 * 61 * 576 * 2
    assert sequence(arch, 16, kv_dtype="fp8") == 16 * 61 * 576
    assert sequence(arch, 16, "0.7.2") == 16 * 61 * 640 * 2
    assert sequence(arch, 16, "0.6.3") == 16 * 61 * 2 * 128 * 256 * 2  # 192 padded to 256
    latent = arch.layer_plan[0].layer
    indexed = IndexedAttention(latent, indexer_width=128)
    sparse = hybrid(LayerRun(indexed, 61))
    assert sequence(sparse, 16) == 16 * 61 * (656 + 132)  # DeepSeek-V3.2: 48,068 B a token
    # GLM-5.2: some layers use another's choice
    shared = hybrid(LayerRun(indexed, 30), LayerRun(latent, 31))
    assert sequence(shared, 16) == 16 * (61 * 656 + 30 * 132)
    assert sequence(sparse, 16, kv_dtype="bf16") == 16 * 61 * (576 * 2 + 132)


def test_windows_that_vllm_does_not_know() -> None:
    sliding = LayerRun(SlidingAttention(96, 96, 1, window=512), 32)
    phi = replace(hybrid(sliding), model_type="phi3")
    assert sequence(phi, 4096) == 32 * 4096 * 192 * 2
    assert sequence(hybrid(sliding), 4096, max_num_batched_tokens=16) < sequence(phi, 4096)
    chunked = hybrid(LayerRun(ChunkedAttention(96, 96, 1, window=512), 32))
    assert sequence(chunked, 4096) == sequence(phi, 4096)


def test_stages_cache_their_own_layers() -> None:
    half = VLLM.sequence_bytes(Placement(LLAMA_8B, split=Split(1, 2)), 8192)
    assert half * 2 == sequence(architecture(LLAMA_8B), 8192)
    assert len(pages.cache_of(architecture(LLAMA_8B), "auto", Split(1, 3), 2048, NOW)) == 3


def test_recurrent_pages_make_room_for_drafts() -> None:
    """Qwen3.8-27B INT4 with three drafted tokens: 340 pages of 800 tokens as logged, 17 layers.

    With prefix caching each group of recurrent layers holds one more (Qwen3.6-27B-FP8 at 4,096
    tokens: 12 pages of 784 tokens, 41.03 GiB for 71.42 sequences).
    """
    drafted = sequence(QWEN_27B, 262_144, "0.25.1", draft_tokens=3)
    assert drafted == (328 + 3 * 4) * 17 * 800 * 4096
    page = 784 * 4096
    assert sequence(QWEN_27B, 4096, "0.27.1") == (6 + 3 * 1) * 16 * page
    cached = (6 + 3 * 2) * 16 * page
    assert sequence(QWEN_27B, 4096, "0.27.1", prefix_caching=True) == cached
    assert sequence(QWEN_27B, 4096, "0.28.0") == cached  # on unasked, pull request 50991
    without = sequence(QWEN_27B, 4096, "0.28.0", prefix_caching=False)
    assert without == sequence(QWEN_27B, 4096, "0.27.1")


def test_the_engine_keeps_compressors_states_for_a_whole_step() -> None:
    """DeepSeek-V4-Flash under 0.22 in steps of 16,384: 6.66 GiB for 30,000 tokens, and 13,528
    tokens in 5.44 GiB (issue 44376).

    21 layers share entries among 4 tokens, 20 among 128: pages of 64 entries of 584 bytes and 64
    indexer keys of 132, or of 2 entries, in multiples of 576. 43 windows are dealt out to two
    groups, so that 22 layers have a page of each size in every block. Windows reach 128 tokens and
    a step (blocks of 64), states 8 (blocks of 4) and 128 (blocks of 8).
    """
    arch = architecture(embedded("deepseek-ai/DeepSeek-V4-Flash"))
    entries, keys, few = 65 * 576, 15 * 576, 3 * 576
    block = 22 * (entries + keys + few)

    def blocks(context: int, step: int) -> int:
        windows = 2 * (-(-min(127 + step, context) // 64) + 1)
        fours = -(-min(7 + step, context) // 4) + 1
        return -(-context // 256) + windows + fours + -(-min(127 + step, context) // 8) + 1

    step = {"max_num_batched_tokens": 16_384}
    assert sequence(arch, 30_000, "0.22.0", **step) == blocks(30_000, 16_384) * block
    assert round(blocks(30_000, 16_384) * block / GIB, 2) == 6.66
    assert round(blocks(13_528, 16_384) * block / GIB, 2) == 5.44
    packed = 22 * entries + 21 * keys + 20 * few  # from 0.24 on no page is empty
    assert sequence(arch, 912_128, "0.25.1") == blocks(912_128, 8192) * packed
    # from 0.26 on two batches are in flight
    assert sequence(arch, 121_344, "0.26.0") == blocks(121_344, 16_384) * packed
    # the draft layer is one more window: 22 in both groups
    assert sequence(arch, 121_344, "0.26.0", draft_tokens=1) == blocks(121_344, 16_384) * packed
    # since 0.29 a block is the largest group's pages alone: those of the entries
    lasting = 21 * (entries + keys) + 20 * few
    assert sequence(arch, 121_344, "0.29.0") == blocks(121_344, 16_384) * lasting
    # in 16 bits vectors have 1,024 bytes, indexer keys stay in 8
    wide = 22 * 64 * 1024 + 21 * 17 * 512 + 20 * 2 * 1024
    found = sequence(arch, 912_128, "0.25.1", kv_dtype="bf16")
    assert found == blocks(912_128, 8192) * wide
