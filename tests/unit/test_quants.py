"""Quantizations: the table, and bytes of their layouts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import UnknownQuant
from gpusizer.memory.quants import ModelShape, all_quants, find_quant
from gpusizer.memory.quants.layouts import Exl, Mlx, awq, bnb_nf4, gptq
from gpusizer.memory.quants.table import aliases
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup, weight_groups
from tests.builders import (
    group,
    llama,
    llama_70b,
    model_shape,
    quantized_bytes,
    qwen2_14b,
    qwen3_06b,
    tiny,
)
from tests.families import deepseek_r1, gemma3_1b, gpt2, gpt_oss_20b, mixtral, qwen3_moe, qwen3_next
from tests.gguf_rows import DENSE, block_row
from tests.packed_layouts import LAYOUTS

BUILDERS = {
    "llama": llama,
    "llama-70b": llama_70b,
    "qwen2-14b": qwen2_14b,
    "qwen3-0.6b": qwen3_06b,
    "gemma3": gemma3_1b,
    "mixtral": mixtral,
    "qwen3-moe": qwen3_moe,
    "qwen3-next": qwen3_next,
    "gpt-oss": gpt_oss_20b,
    "gpt2": gpt2,
    "deepseek": deepseek_r1,
}
SLUGS = [quant.slug for quant in all_quants()]


@cache
def profile(name: str) -> ModelProfile:
    builder: Any = BUILDERS[name]
    return build_profile(builder())


@pytest.mark.parametrize(
    "slug, model, published",
    [
        ("bf16", "llama", 16_060_522_496),
        ("fp32", "llama", 32_121_044_992),
        ("mxfp4", "gpt-oss", 13_761_264_768),
        ("bf16", "deepseek", 2 * 684_489_845_504),
        ("bf16", "qwen3-0.6b", 2 * 596_049_920),  # the second copy of the tied matrix is not loaded
        ("bf16", "gpt2", 2 * 124_439_808),  # nor are the masks
    ],
)
def test_published_sizes_to_the_byte(slug: str, model: str, published: int) -> None:
    assert quantized_bytes(slug, profile(model)) == published


@pytest.mark.parametrize(
    "slug, stored_as",
    [
        ("gptq-int4-g128", "gptq-4"),
        ("gptq-int8-g128", "gptq-8"),
        ("awq-int4-g128", "awq"),
        ("bnb-nf4-dq", "bnb-nf4"),
        ("int8", "w8a8-int8"),
        ("fp8", "fp8-dynamic"),
        ("nvfp4", "nvfp4"),
    ],
)
@pytest.mark.parametrize("build", [llama, qwen2_14b])
def test_a_predicted_size_is_the_size_of_such_a_file(slug: str, stored_as: str, build: Any) -> None:
    """Published files have these bytes (`test_packing.py`)."""
    linear, settings = LAYOUTS[stored_as]
    stored = build_profile(build(linear=linear, config={"quantization_config": settings}))
    assert quantized_bytes(slug, build_profile(build())) == stored.weight_bytes


@pytest.mark.parametrize("slug", SLUGS)
def test_a_quantized_checkpoint_is_judged_by_its_parameters(slug: str) -> None:
    linear, settings = LAYOUTS["awq"]
    packed = build_profile(llama(linear=linear, config={"quantization_config": settings}))
    assert quantized_bytes(slug, packed) == quantized_bytes(slug, profile("llama"))


FAMILIES = {
    "plain": ["fp32", "bf16"],
    "gguf": ["q8_0", "q6_k", "q5_k_m", "q5_k_s", "q4_k_m", "q4_k_s", "q3_k_m", "q2_k"],
    "gguf blocks of 32": ["gguf-f32", "gguf-f16", "q8_0", "q5_1", "q5_0", "q4_0"],
    "gguf IQ": ["iq4_nl", "iq4_xs", "iq3_xxs", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s"],
    "gptq": ["gptq-int8-g128", "gptq-int4-g128"],
    "gptq groups": ["gptq-int4-g32", "gptq-int4-g128"],
    "awq groups": ["awq-int4-g64", "awq-int4-g128"],
    "bitsandbytes": ["bnb-int8", "bnb-nf4", "bnb-nf4-dq"],
    "mlx": ["mlx-8bit", "mlx-6bit", "mlx-4bit"],
    "exl2": ["exl2-8.0", "exl2-6.0", "exl2-5.0", "exl2-4.25", "exl2-4.0", "exl2-3.0"],
    "exl3": ["exl3-8.0", "exl3-6.0", "exl3-5.0", "exl3-4.0", "exl3-3.5", "exl3-3.0"],
}


@pytest.mark.parametrize("model", BUILDERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_fewer_bits_never_need_more(family: str, model: str) -> None:
    sizes = [quantized_bytes(slug, profile(model)) for slug in FAMILIES[family]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] > 0


@given(
    layers=st.integers(1, 12).map(lambda eighths: 8 * eighths),
    hidden=st.integers(1, 16).map(lambda blocks: 256 * blocks),
    wide=st.integers(2, 4),
    kv_heads=st.sampled_from([1, 2, 4]),
    family=st.sampled_from(sorted(FAMILIES)),
)
def test_fewer_bits_never_need_more_at_any_size(
    layers: int, hidden: int, wide: int, kv_heads: int, family: str
) -> None:
    dense = build_profile(tiny(layers=layers, hidden=hidden, ffn=wide * hidden, kv_heads=kv_heads))
    assert model_shape(dense).heads_per_kv_head == 4 // kv_heads
    sizes = [quantized_bytes(slug, dense) for slug in FAMILIES[family]]
    assert sizes == sorted(sizes, reverse=True)


# The table.


def test_every_slug_finds_its_own_row() -> None:
    assert len(SLUGS) == len(set(SLUGS))
    assert [find_quant(slug).slug for slug in SLUGS] == SLUGS
    assert [quant.order for quant in all_quants()] == list(range(len(SLUGS)))


@pytest.mark.parametrize("alias, slug", aliases().items())
def test_aliases(alias: str, slug: str) -> None:
    assert find_quant(f" {alias.upper()} ").slug == slug
    assert alias not in SLUGS


def test_rankings_avoid_below_four_bits_and_slow_kernels_by_default() -> None:
    unasked = {quant.slug for quant in all_quants() if quant.shown and not quant.recommended}
    slow = {"bnb-int8", "bnb-nf4", "bnb-nf4-dq"}
    rare = {slug for slug in unasked if slug.startswith("exl")}
    assert len(rare) == 10 and unasked - rare == {"fp32", "q3_k_m", "q2_k", *slow}


def test_hidden_quantizations_are_gguf_and_never_chosen_unasked() -> None:
    hidden = [quant for quant in all_quants() if not quant.shown]
    assert len(all_quants()) - len(hidden) <= 40  # what a reader is handed
    assert {"iq3_xxs", "q4_1", "tq1_0", "gguf-f16"} <= {quant.slug for quant in hidden}
    assert not any(quant.recommended for quant in hidden)
    assert all(quant.engines == ("llama.cpp", "ollama") for quant in hidden)


def test_every_row_has_an_engine_and_a_source() -> None:
    assert all(quant.engines and quant.source for quant in all_quants())
    needs = {quant.needs for quant in all_quants()}
    assert needs == {"", "fp8", "fp4", "int8", "int4", "awq", "cuda"}


@pytest.mark.parametrize(
    ("text", "slug", "bits", "after", "recommended"),
    [
        ("exl2-4.25", "exl2-4.25", 4.25, "exl2-4.0", True),
        ("EXL3-3.5", "exl3-3.5", 3.5, "exl3-3.0", False),
        ("exl2-1.5", "exl2-1.5", 1.5, "exl2-3.0", False),
        ("exl2-4", "exl2-4", 4, "exl2-4.0", True),
    ],
)
def test_any_exl_width(text: str, slug: str, bits: float, after: str, recommended: bool) -> None:
    quant = find_quant(text)
    assert (quant.slug, quant.bits, quant.recommended) == (slug, bits, recommended)
    assert quant.order == find_quant(after).order
    assert quant.layout == Exl(bits)


@pytest.mark.parametrize("text", ["", "q4_k_x", "exl2-9.0", "exl2-0.5", "exl2-4.125", "exl4-4.0"])
def test_unknown_quantizations_are_refused(text: str) -> None:
    with pytest.raises(UnknownQuant) as caught:
        find_quant(text)
    assert caught.value.fields["value"] == text


def test_a_misspelling_gets_suggestions() -> None:
    with pytest.raises(UnknownQuant) as caught:
        find_quant("q4_k_x")
    suggestions = caught.value.fields["suggestions"]
    assert isinstance(suggestions, list)
    assert {"q4_k_m", "q4_k_s"} <= set(suggestions)


def linear(rows: int, columns: int, **overrides: Any) -> WeightGroup:
    return block_row(**{"slot": Slot.UP, "shape": (rows, columns), **overrides})


# One [256, 512] matrix: 131,072 weights.
MATRIX = {
    "fp32": 524_288,
    "bf16": 262_144,
    "q8_0": 4096 * 34,  # 131072 / 32 blocks
    "fp8": 131_072 + 256 * 2,
    "bnb-int8": 131_072 + 256 * 4,
    "gptq-int8-g128": 131_072 + 4 * 64 * 4 + 4 * 256 * 2 + 512 * 4,
    "gptq-int4-g128": 65_536 + 4 * 32 * 4 + 4 * 256 * 2 + 512 * 4,
    "gptq-int4-g32": 65_536 + 16 * 32 * 4 + 16 * 256 * 2 + 512 * 4,
    "awq-int4-g128": 65_536 + 4 * 32 * 4 + 4 * 256 * 2,
    "awq-int4-g64": 65_536 + 8 * 32 * 4 + 8 * 256 * 2,
    "bnb-nf4": 65_536 + 2048 * 4 + 64 + 172,
    "bnb-nf4-dq": 65_536 + 2048 + 8 * 4 + 1024 + 64 + 172,
    "mxfp4": 65_536 + 256 * 16,
    "nvfp4": 65_536 + 256 * 32 + 8,
    "mlx-8bit": 131_072 + 256 * 8 * 4,
    "mlx-4bit": 65_536 + 256 * 8 * 4,
    "exl2-4.0": 65_536,
    "exl3-3.0": 49_152,
    "q6_k": 512 * 210,  # 131072 / 256 blocks
    "q4_0": 4096 * 18,
    "iq4_xs": 512 * 136,
    "q2_k": 512 * 84,
}


@pytest.mark.parametrize("slug, size", MATRIX.items())
def test_one_matrix(slug: str, size: int) -> None:
    assert find_quant(slug).layout.group_bytes(linear(256, 512), DENSE) == size


@pytest.mark.parametrize(
    "layout, rows, columns, size",
    [
        (gptq(4, 128), 8, 130, 17 * 8 * 4 + 2 * 4 + 2 * 8 * 2 + 130 * 4),  # a last, short group
        (awq(4, 128), 12, 130, 130 * 2 * 4 + 2 * 2 * 4 + 2 * 12 * 2),
        (bnb_nf4(64, double_quant=True), 5, 13, 33 + 2 + 4 + 1024 + 64 + 172),
        (Mlx(4, 64), 8, 100, 8 * 100 * 2),  # rows that are no multiple of the group stay 16-bit
        (Exl(4.25), 8, 8, 34),
    ],
)
def test_odd_sides_round_up(layout: Any, rows: int, columns: int, size: int) -> None:
    assert layout.group_bytes(linear(rows, columns), DENSE) == size


KEPT = [
    ("model.layers.{}.input_layernorm.weight", (4096,)),
    ("model.layers.{}.self_attn.q_proj.bias", (4096,)),
    ("model.layers.{}.mlp.gate.weight", (256, 4096)),
    ("vision_tower.encoder.layers.{}.mlp.fc1.weight", (4096, 1024)),
    ("multi_modal_projector.layers.{}.linear_1.weight", (4096, 1024)),
]
WEIGHT_ONLY = ["fp8", "int8", "gptq-int4-g128", "awq-int4-g128", "bnb-nf4", "mxfp4", "nvfp4"]


@pytest.mark.parametrize("slug", WEIGHT_ONLY)
@pytest.mark.parametrize("name, shape", KEPT)
def test_quantizers_leave_some_tensors_in_16_bits(
    slug: str, name: str, shape: tuple[int, ...]
) -> None:
    (weight_group,) = weight_groups("model", [group(name, shape, range(2))], None)
    assert find_quant(slug).layout.group_bytes(weight_group, DENSE) == 2 * weight_group.parameters


@pytest.mark.parametrize("slug", [*WEIGHT_ONLY, "exl2-4.0"])
def test_embeddings_stay_16_bit(slug: str) -> None:
    (table,) = weight_groups("model", [group("model.embed_tokens.weight", (1024, 512))], None)
    assert find_quant(slug).layout.group_bytes(table, DENSE) == 2 * 1024 * 512


@pytest.mark.parametrize(
    "slug, head_bits",
    [
        ("bf16", 16),
        ("int8", 16),
        ("exl2-8.0", 8),
        ("exl2-4.0", 6),
        ("exl3-3.0", 6),
        ("q2_k", 6.5625),
    ],
)
def test_output_head(slug: str, head_bits: float) -> None:
    (head,) = weight_groups("model", [group("lm_head.weight", (1024, 512))], None)
    assert find_quant(slug).layout.group_bytes(head, DENSE) == 1024 * 512 * head_bits / 8


@pytest.mark.parametrize("slug", SLUGS)
def test_second_copies_buffers_and_scales_take_nothing(slug: str) -> None:
    layout = find_quant(slug).layout
    unloaded = {"duplicate": True}, {"kind": Kind.BUFFER}, {"kind": Kind.QUANT_AUX}
    assert [layout.group_bytes(linear(256, 512, **change), DENSE) for change in unloaded] == [0] * 3


def test_mxfp4_quantizes_experts_alone_where_there_are_any() -> None:
    attention, mxfp4 = linear(256, 512), find_quant("mxfp4").layout
    moe = replace(DENSE, experts=32)
    assert mxfp4.group_bytes(attention, moe) == 2 * 256 * 512
    fused = linear(256, 512, shape=(32, 256, 512), kind=Kind.EXPERT)
    assert mxfp4.group_bytes(fused, moe) == 32 * 256 * (256 + 16)


@pytest.mark.parametrize("slug", SLUGS)
def test_fused_experts_take_what_separate_ones_do(slug: str) -> None:
    layout, moe = find_quant(slug).layout, replace(DENSE, experts=16)
    fused = linear(256, 512, shape=(16, 256, 512), kind=Kind.EXPERT)
    separate = linear(256, 512, count=16, kind=Kind.EXPERT)
    assert layout.group_bytes(fused, moe) == layout.group_bytes(separate, moe)


GROUPS = st.builds(
    linear,
    rows=st.integers(0, 600),
    columns=st.integers(0, 600),
    kind=st.sampled_from(Kind),
    part=st.sampled_from(Part),
    slot=st.sampled_from(Slot),
    duplicate=st.booleans(),
)
SHAPES = st.builds(
    ModelShape, st.integers(0, 100), st.integers(1, 16), st.integers(0, 9), st.booleans()
)


@given(st.sampled_from(SLUGS), GROUPS, SHAPES)
def test_no_layout_gives_negative_bytes(
    slug: str, weight_group: WeightGroup, model: ModelShape
) -> None:
    size = find_quant(slug).layout.group_bytes(weight_group, model)
    assert type(size) is int
    assert size >= 0
    if weight_group.parameters == 0:
        assert size == 0


@given(st.sampled_from(SLUGS), GROUPS, SHAPES, st.integers(1, 300), st.integers(1, 3))
def test_more_parameters_never_need_less(
    slug: str, weight_group: WeightGroup, model: ModelShape, rows: int, copies: int
) -> None:
    layout = find_quant(slug).layout
    taller = replace(weight_group, shape=(weight_group.shape[0] + rows, weight_group.shape[1]))
    wider = replace(weight_group, shape=(weight_group.shape[0], weight_group.shape[1] // 256 * 256))
    widest = replace(wider, shape=(weight_group.shape[0], wider.shape[1] + 256 * copies))
    more = replace(weight_group, count=weight_group.count + copies)
    assert layout.group_bytes(weight_group, model) <= layout.group_bytes(taller, model)
    assert layout.group_bytes(weight_group, model) <= layout.group_bytes(more, model)
    assert layout.group_bytes(wider, model) <= layout.group_bytes(widest, model)
