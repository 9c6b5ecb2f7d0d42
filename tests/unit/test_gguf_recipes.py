"""gpusizer.memory.quants.gguf: llama.cpp's recipes, against the widths its own README publishes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.dtypes import GGML_BLOCKS
from gpusizer.memory.model_shape import model_shape
from gpusizer.memory.quants import ModelShape, find_quant
from gpusizer.memory.quants.gguf import Gguf, header_bytes, tensor_bytes
from gpusizer.memory.quants.recipes import RECIPES, Place, more_bits
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from tests.builders import llama, quantized_bytes, qwen3_06b
from tests.families import deepseek_r1, gpt_oss_20b
from tests.gguf_rows import DENSE, ROW, block_row, llama_8b, tied


@pytest.mark.parametrize(
    "slug, bits_per_weight",
    [
        ("q8_0", 8.5008),
        ("q6_k", 6.5633),
        ("q5_k_m", 5.7036),
        ("q5_k_s", 5.5704),
        ("q4_k_m", 4.8944),
        ("q4_k_s", 4.6672),
        ("q3_k_m", 3.9960),
        ("q2_k", 3.1593),
        ("q2_k_s", 2.9697),
        ("q3_k_s", 3.6429),
        ("q3_k_l", 4.2979),
        ("iq3_m", 3.7628),
        ("iq3_s", 3.6606),
        ("iq3_xs", 3.4977),
        ("iq3_xxs", 3.2548),
        ("iq2_m", 2.9294),
        ("iq2_s", 2.7403),
        ("iq2_xs", 2.5882),
        ("iq2_xxs", 2.3824),
        ("iq1_m", 2.1460),
        ("iq1_s", 2.0042),
        ("gguf-f16", 16.0005),
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


# Bytes of 256 weights. Q4_0 takes as much as Q4_K, and Q5_0 as much as Q5_K.
TYPE_OF_BYTES = {
    272: "Q8_0",
    210: "Q6_K",
    176: "Q5_K",
    144: "Q4_K",
    136: "IQ4_XS",
    110: "Q3_K",
    84: "Q2_K",
}


def type_of(slug: str, slot: Slot, layer: int = 10, model: ModelShape = DENSE) -> str:
    """Return the block type of a tensor, derived from its bytes."""
    return TYPE_OF_BYTES[Gguf(RECIPES[slug]).group_bytes(block_row(slot, layer), model)]


MHA = replace(DENSE, heads_per_kv_head=1)


L80 = replace(DENSE, layers=80)


X8 = replace(DENSE, experts=8)


X128 = replace(DENSE, experts=128)


FALCON = replace(DENSE, wide_head=True)


@pytest.mark.parametrize(
    "slug, slot, layer, model, expected",
    [
        ("q4_k_m", Slot.Q, 0, DENSE, "Q4_K"),
        ("q4_k_m", Slot.V, 0, DENSE, "Q6_K"),
        ("q4_k_m", Slot.V, 4, DENSE, "Q4_K"),
        ("q4_k_m", Slot.QKV, 0, DENSE, "Q6_K"),
        ("q4_k_m", Slot.KV_B, 0, DENSE, "Q4_K"),
        ("q3_k_l", Slot.DOWN, 9, DENSE, "Q5_K"),
        ("iq2_xs", Slot.V, 9, MHA, "Q2_K"),
        ("iq2_xs", Slot.V, 9, DENSE, "Q4_K"),
        ("iq2_xs", Slot.V, 9, replace(MHA, experts=64), "Q4_K"),
        ("iq2_xs", Slot.DOWN, 3, DENSE, "Q2_K"),
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
        ("q3_k_m", Slot.DOWN, 1, FALCON, "Q5_K"),  # the first sixteenth of 32 layers
        ("q3_k_m", Slot.DOWN, 30, FALCON, "Q4_K"),
        ("q3_k_m", Slot.DOWN, 5, FALCON, "Q3_K"),
        ("q3_k_m", Slot.O, 5, FALCON, "Q3_K"),
        ("q3_k_l", Slot.DOWN, 5, FALCON, "Q4_K"),
        ("q3_k_l", Slot.O, 5, FALCON, "Q4_K"),
        ("q4_k_m", Slot.DOWN, 1, FALCON, "Q6_K"),
        ("q4_k_m", Slot.DOWN, 30, FALCON, "Q5_K"),
        ("q4_k_m", Slot.DOWN, 5, FALCON, "Q4_K"),
        ("q4_k_s", Slot.DOWN, 1, FALCON, "Q4_K"),
        ("iq3_m", Slot.DOWN, 30, X8, "Q4_K"),
        ("iq3_m", Slot.DOWN, 30, X128, "Q3_K"),  # IQ3_S, of the same size
    ],
)
def test_type_of_a_tensor(
    slug: str, slot: Slot, layer: int, model: ModelShape, expected: str
) -> None:
    assert type_of(slug, slot, layer, model) == expected


@pytest.mark.parametrize(
    "row, recipe_type, block_type",
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
def test_odd_rows_fall_back_to_smaller_blocks(row: int, recipe_type: str, block_type: str) -> None:
    block, size = GGML_BLOCKS[block_type]
    assert tensor_bytes(block_row(Slot.UP, shape=(3, row)), recipe_type) == 3 * row // block * size


@pytest.mark.parametrize("slug", RECIPES)
def test_embedding_and_head(slug: str) -> None:
    layout, recipe = Gguf(RECIPES[slug]), RECIPES[slug]
    outside: dict[str, Any] = {"layers": None, "shape": (1000, ROW)}
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, **outside)
    head = block_row(Slot.OTHER, kind=Kind.OUTPUT, **outside)
    narrow = recipe.embedding or recipe.base
    base, output = (tensor_bytes(table, name) for name in (narrow, recipe.output))
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


@pytest.mark.parametrize(
    ("slug", "stored", "file_bytes"),
    [
        # unsloth's copy of the model has no head; beside one the embedding is in Q4_K
        ("q4_k_m", True, 396_705_472 + 151_936 * 1024 * 144 // 256),
        ("q4_k_m@unsloth", True, 396_705_472),
        ("q4_k_m", False, 396_705_472),
    ],
)
def test_a_tied_head_that_is_stored_is_written_too(
    slug: str, stored: bool, file_bytes: int
) -> None:
    """The embedding has the recipe's base type beside a head, else the head's."""
    profile = build_profile(qwen3_06b(head=stored))
    sizes = weight_sizes(profile, find_quant(slug), native=False)
    assert sizes.total + header_bytes(profile.architecture) == pytest.approx(file_bytes, abs=30_000)


@pytest.mark.parametrize(
    ("slug", "importance_matrix", "bits_per_weight"),
    [
        # llama.cpp's tools/quantize/README.md, whose widths are those without
        ("iq4_xs", False, 4.4597),
        ("iq4_nl", False, 4.6818),
        # 4 of 32 layers' ffn_down (58,720,256 weights each) at 4.25 bits instead of 5.5
        ("iq4_xs", True, 4.4597 - 4 * 58_720_256 * 1.25 / 8_030_261_312),
        ("iq4_xs", None, 4.4597 - 4 * 58_720_256 * 1.25 / 8_030_261_312),
    ],
)
def test_an_importance_matrix_spares_what_is_widened_without(
    slug: str, importance_matrix: bool | None, bits_per_weight: float
) -> None:
    said = Workload(importance_matrix=importance_matrix)
    total = weight_sizes(llama_8b(), find_quant(slug), native=False, workload=said).total
    assert total * 8 / 8_030_261_312 == pytest.approx(bits_per_weight, abs=1e-4)


def test_without_an_importance_matrix_small_types_give_way() -> None:
    said = replace(DENSE, importance_matrix=False, heads_per_kv_head=1)
    layout = Gguf(RECIPES["iq3_xxs"])
    slots = [(Slot.V, 10), (Slot.DOWN, 3), (Slot.DOWN, 4)]
    widths = [layout.group_bytes(block_row(slot, layer), said) for slot, layer in slots]
    assert widths == [110, 144, 110]  # IQ3_S, Q4_K, Q3_K
    with_matrix = replace(said, importance_matrix=True)
    assert {layout.group_bytes(block_row(slot, layer), with_matrix) for slot, layer in slots} == {
        98  # IQ3_XXS
    }


def test_classes_that_skip_a_tied_head() -> None:
    layout = Gguf(RECIPES["q4_k_m"])
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, shape=(1000, ROW))
    head = replace(table, kind=Kind.OUTPUT, duplicate=True)
    skipping = tied(llama_8b(), stores_head=True, drops_head=True)
    assert [layout.group_bytes(g, skipping) for g in (table, head)] == [210_000, 0]
    both = replace(skipping, drops_head=False)
    assert [layout.group_bytes(g, both) for g in (table, head)] == [144_000, 210_000]
    assert model_shape(build_profile(llama(model_type="gemma3_text"))).drops_head


def test_layers_of_a_group_are_judged_one_by_one() -> None:
    one_group = block_row(Slot.DOWN, layers=tuple(range(32)), count=32)
    rows_by_layer = [block_row(Slot.DOWN, layer) for layer in range(32)]
    layout = Gguf(RECIPES["q4_k_m"])
    # 16 of 32 layers are widened to Q6_K
    expected = 16 * 210 + 16 * 144
    assert layout.group_bytes(one_group, DENSE) == expected
    assert sum(layout.group_bytes(g, DENSE) for g in rows_by_layer) == expected


@pytest.mark.parametrize("slug", ["q8_0", "q4_k_m", "q2_k"])
def test_experts_released_in_mxfp4_stay_so(slug: str) -> None:
    profile = build_profile(gpt_oss_20b())
    released = [g for g in profile.groups if g.pattern.endswith("_blocks")]
    scales = [g for g in profile.groups if g.pattern.endswith("_scales")]
    size = sum(Gguf(RECIPES[slug]).group_bytes(g, replace(DENSE, experts=32)) for g in released)
    assert size == sum(g.stored_bytes for g in (*released, *scales)) == 10_152_345_600


@pytest.mark.parametrize(
    "slug, plain, embedding_bits",
    [
        ("q6_k_l", "q6_k", 6.5625),
        ("q5_k_l", "q5_k_m", 5.5),
        ("q4_k_l", "q4_k_m", 4.5),
        ("q3_k_xl", "q3_k_l", 3.4375),
        ("q2_k_l", "q2_k", 2.625),
    ],
)
def test_wide_tables_are_eight_bits(slug: str, plain: str, embedding_bits: float) -> None:
    """Llama-3.1-8B: 128,256 x 4,096 values each in token_embd and in output, which was Q6_K."""
    grown = quantized_bytes(slug, llama_8b()) - quantized_bytes(plain, llama_8b())
    assert grown == 128_256 * 4096 * ((8.5 - embedding_bits) + (8.5 - 6.5625)) / 8
