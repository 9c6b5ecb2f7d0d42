"""gpusizer.quants.gguf: llama.cpp's recipes, against the widths its own README publishes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from gpusizer.dtypes import GGML_BLOCKS
from gpusizer.profile import ModelProfile, build_profile
from gpusizer.quants import ModelShape
from gpusizer.quants.gguf import RECIPES, Gguf, Place, more_bits, tensor_bytes
from gpusizer.roles import Kind, Part, Slot
from gpusizer.weights import WeightGroup
from tests.builders import llama, quantized_bytes, qwen3_06b, tiny
from tests.families import deepseek_r1, gpt_oss_20b

DENSE = ModelShape(layers=32, heads_per_kv_head=4, experts=0, tied_embeddings=False)
ROW = 256  # one block of a K-quant


@cache
def llama_8b() -> ModelProfile:
    return build_profile(llama())


@pytest.mark.parametrize(
    ("slug", "bits_per_weight"),
    [
        ("q8_0", 8.5008),
        ("q6_k", 6.5633),
        ("q5_k_m", 5.7036),
        ("q5_k_s", 5.5704),
        ("q4_k_m", 4.8944),
        ("q4_k_s", 4.6672),
        ("q3_k_m", 3.9960),
        ("q2_k", 3.1593),
    ],
)
def test_bits_per_weight_of_llama_8b(slug: str, bits_per_weight: float) -> None:
    bits = quantized_bytes(slug, llama_8b()) * 8
    assert bits / llama_8b().parameters == pytest.approx(bits_per_weight, abs=1e-4)


@pytest.mark.parametrize(
    ("layers", "widened"),
    [
        # the first eighth, the last eighth, and every third between
        (32, [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]),
        (8, [0, 3, 6, 7]),
        (1, [0]),
    ],
)
def test_layers_with_more_bits(layers: int, widened: list[int]) -> None:
    model = replace(DENSE, layers=layers)
    assert [i for i in range(layers) if more_bits(Place(i, model))] == widened


@pytest.mark.parametrize(
    ("slug", "file_bytes"),
    [("q4_k_m", 4_081_004_224), ("q4_0", 3_825_903_776)],
)
def test_published_files_of_llama_2_7b(slug: str, file_bytes: int) -> None:
    profile = build_profile(llama(kv_heads=32, ffn=11008, vocab=32000, context=4096))
    header = file_bytes - quantized_bytes(slug, profile)
    assert 0.7e6 < header < 0.85e6  # 23 bytes for each of 32,000 tokens, and the rest


def block_row(slot: Slot, layer: int = 10, **overrides: Any) -> WeightGroup:
    """One row of one block in one layer, so that its bytes name its type."""
    base = WeightGroup("model", "model.layers.{}.x.weight", "BF16", (1, ROW), 1, Part.TEXT,
                       Kind.LINEAR, slot, (layer,), 2 * ROW)  # fmt: skip
    return replace(base, **overrides)


# Bytes of 256 weights. Q4_0 takes as much as Q4_K, and Q5_0 as much as Q5_K.
TYPE_OF_BYTES = {272: "Q8_0", 210: "Q6_K", 176: "Q5_K", 144: "Q4_K", 136: "IQ4_XS", 110: "Q3_K",
                 84: "Q2_K"}  # fmt: skip


def type_of(slug: str, slot: Slot, layer: int = 10, model: ModelShape = DENSE) -> str:
    """The block type a tensor gets, told by its size."""
    return TYPE_OF_BYTES[Gguf(RECIPES[slug]).group_bytes(block_row(slot, layer), model)]


MHA = replace(DENSE, heads_per_kv_head=1)
L80 = replace(DENSE, layers=80)
X8 = replace(DENSE, experts=8)
X128 = replace(DENSE, experts=128)


@pytest.mark.parametrize(
    ("slug", "slot", "layer", "model", "expected"),
    [
        ("q4_k_m", Slot.Q, 0, DENSE, "Q4_K"),
        ("q4_k_m", Slot.V, 0, DENSE, "Q6_K"),
        ("q4_k_m", Slot.V, 4, DENSE, "Q4_K"),
        ("q4_k_m", Slot.QKV, 0, DENSE, "Q6_K"),
        ("q4_k_m", Slot.KV_B, 0, DENSE, "Q6_K"),
        ("q4_k_m", Slot.DOWN, 31, DENSE, "Q6_K"),
        ("q4_k_m", Slot.O, 0, DENSE, "Q4_K"),
        ("q5_k_m", Slot.DOWN, 6, DENSE, "Q6_K"),
        ("q5_k_s", Slot.V, 0, DENSE, "Q5_K"),
        ("q4_k_s", Slot.V, 3, DENSE, "Q5_K"),
        ("q4_k_s", Slot.V, 4, DENSE, "Q4_K"),
        ("q4_k_s", Slot.DOWN, 3, DENSE, "Q5_K"),
        ("q4_k_s", Slot.DOWN, 4, DENSE, "Q4_K"),
        ("q3_k_m", Slot.V, 1, DENSE, "Q5_K"),
        ("q3_k_m", Slot.V, 2, DENSE, "Q4_K"),
        ("q3_k_m", Slot.DOWN, 1, DENSE, "Q5_K"),
        ("q3_k_m", Slot.DOWN, 2, DENSE, "Q4_K"),
        ("q3_k_m", Slot.O, 5, DENSE, "Q4_K"),
        ("q3_k_m", Slot.UP, 5, DENSE, "Q3_K"),
        ("q2_k", Slot.V, 5, DENSE, "Q4_K"),
        ("q2_k", Slot.V, 5, MHA, "Q3_K"),
        ("q2_k", Slot.O, 5, DENSE, "Q3_K"),
        ("q2_k", Slot.K, 5, DENSE, "Q2_K"),
        ("iq4_xs", Slot.V, 5, DENSE, "Q5_K"),
        ("iq4_xs", Slot.V, 5, MHA, "IQ4_XS"),
        # an 80-layer model is "70B" and its shared attn_v is widened
        ("q4_k_m", Slot.V, 12, L80, "Q6_K"),
        ("q4_k_m", Slot.V, 13, L80, "Q5_K"),
        ("q3_k_m", Slot.V, 40, L80, "Q5_K"),
        ("q2_k", Slot.V, 40, L80, "Q5_K"),
        ("q6_k", Slot.V, 40, L80, "Q6_K"),
        ("q3_k_m", Slot.DOWN, 40, L80, "Q4_K"),
        # eight experts: attention is so small a part that it is spared
        ("q4_k_m", Slot.K, 10, X8, "Q8_0"),
        ("q4_k_m", Slot.V, 10, X8, "Q8_0"),
        ("q2_k", Slot.QKV, 10, X8, "Q8_0"),
        ("q4_k_m", Slot.O, 10, X8, "Q5_K"),
        ("q2_k", Slot.O, 10, X8, "Q5_K"),
        ("iq4_xs", Slot.O, 10, X8, "Q5_K"),
        ("q4_0", Slot.O, 10, X8, "Q4_K"),  # Q4_0, of the same size
        ("q6_k", Slot.O, 10, X8, "Q6_K"),  # never narrower than the recipe
        ("q8_0", Slot.O, 10, X8, "Q8_0"),
        ("q4_k_m", Slot.Q, 10, X8, "Q4_K"),
        ("q4_k_m", Slot.K, 10, X128, "Q4_K"),
    ],
)
def test_type_of_a_tensor(
    slug: str, slot: Slot, layer: int, model: ModelShape, expected: str
) -> None:
    assert type_of(slug, slot, layer, model) == expected


@pytest.mark.parametrize(
    ("row", "wanted", "block_type"),
    [
        (512, "Q4_K", "Q4_K"),
        (544, "Q4_K", "Q5_0"),  # 17 x 32, but no multiple of 256
        (544, "Q5_K", "Q5_1"),
        (544, "Q6_K", "Q8_0"),
        (544, "Q3_K", "Q4_0"),
        (544, "Q2_K", "Q4_0"),
        (544, "IQ4_XS", "IQ4_NL"),
        (544, "Q8_0", "Q8_0"),
        (500, "Q4_K", "F16"),  # no multiple of 32 either
        (500, "Q8_0", "F16"),
        (500, "F32", "F32"),
    ],
)
def test_odd_rows_fall_back_to_smaller_blocks(row: int, wanted: str, block_type: str) -> None:
    block, size = GGML_BLOCKS[block_type]
    assert tensor_bytes(block_row(Slot.UP, shape=(3, row)), wanted) == 3 * row // block * size


@pytest.mark.parametrize("slug", RECIPES)
def test_embedding_and_head(slug: str) -> None:
    layout, recipe = Gguf(RECIPES[slug]), RECIPES[slug]
    outside: dict[str, Any] = {"layers": None, "shape": (1000, ROW)}
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, **outside)
    head = block_row(Slot.OTHER, kind=Kind.OUTPUT, **outside)
    base, output = (tensor_bytes(table, name) for name in (recipe.base, recipe.output))
    tied = replace(DENSE, tied_embeddings=True)
    assert layout.group_bytes(table, DENSE) == base
    assert layout.group_bytes(table, tied) == output  # the embedding is the head
    assert layout.group_bytes(head, DENSE) == output


def test_a_head_with_odd_rows_is_q8_0() -> None:
    head = block_row(Slot.OTHER, kind=Kind.OUTPUT, layers=None, shape=(10, 2880))
    assert Gguf(RECIPES["q4_k_m"]).group_bytes(head, DENSE) == 10 * 90 * 34


@pytest.mark.parametrize("kind", [Kind.NORM, Kind.BIAS, Kind.ROUTER, Kind.CONV, Kind.VECTOR])
def test_small_tensors_are_32_bit(kind: Kind) -> None:
    assert Gguf(RECIPES["q2_k"]).group_bytes(block_row(Slot.OTHER, kind=kind), DENSE) == 4 * ROW


def test_vision_towers_stay_16_bit_and_draft_layers_are_dropped() -> None:
    layout = Gguf(RECIPES["q4_k_m"])
    assert layout.group_bytes(block_row(Slot.UP, part=Part.VISION), DENSE) == 2 * ROW
    assert layout.group_bytes(block_row(Slot.UP, part=Part.MTP), DENSE) == 0


def test_the_draft_layer_of_deepseek_is_not_in_the_file() -> None:
    profile = build_profile(deepseek_r1())
    text = replace(profile, groups=tuple(g for g in profile.groups if g.part is Part.TEXT))
    assert quantized_bytes("q8_0", profile) == quantized_bytes("q8_0", text) > 0


def test_a_tied_matrix_stored_twice_is_written_once() -> None:
    twice, once = build_profile(qwen3_06b()), build_profile(qwen3_06b(head=False))
    assert quantized_bytes("q4_k_m", twice) == quantized_bytes("q4_k_m", once)


def test_layers_of_a_group_are_judged_one_by_one() -> None:
    one_group = block_row(Slot.DOWN, layers=tuple(range(32)), count=32)
    apart = [block_row(Slot.DOWN, layer) for layer in range(32)]
    layout = Gguf(RECIPES["q4_k_m"])
    # 16 of 32 layers are widened to Q6_K
    expected = 16 * 210 + 16 * 144
    assert layout.group_bytes(one_group, DENSE) == expected
    assert sum(layout.group_bytes(g, DENSE) for g in apart) == expected


@pytest.mark.parametrize("slug", ["q8_0", "q4_k_m", "q2_k"])
def test_experts_released_in_mxfp4_stay_so(slug: str) -> None:
    profile = build_profile(gpt_oss_20b())
    released = [g for g in profile.groups if g.pattern.endswith("_blocks")]
    scales = [g for g in profile.groups if g.pattern.endswith("_scales")]
    size = sum(Gguf(RECIPES[slug]).group_bytes(g, replace(DENSE, experts=32)) for g in released)
    assert size == sum(g.stored_bytes for g in (*released, *scales)) == 10_152_345_600


def test_a_whole_small_model() -> None:
    profile = build_profile(tiny())
    # Q8_0 is 34 bytes per 32 weights; the 9 norms of 256 are FP32.
    matrices = profile.parameters - 9 * 256
    assert quantized_bytes("q8_0", profile) == matrices * 34 // 32 + 9 * 256 * 4
