"""Layouts of quantizations: bytes of single tensors, counted by hand, and what holds for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusizer.memory.quants import ModelShape, all_quants, find_quant
from gpusizer.memory.quants.layouts import Exl, Mlx, awq, bnb_nf4, gptq
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup, weight_groups
from tests.builders import group
from tests.each import each

SLUGS = [quant.slug for quant in all_quants()]
DENSE = ModelShape(layers=32, heads_per_kv_head=4, experts=0, tied_embeddings=False)


def linear(rows: int, columns: int, **overrides: Any) -> WeightGroup:
    base = WeightGroup(
        "model",
        "model.layers.{}.mlp.up_proj.weight",
        "BF16",
        (rows, columns),
        1,
        Part.TEXT,
        Kind.LINEAR,
        Slot.UP,
        (0,),
        2 * rows * columns,
    )
    return replace(base, **overrides)


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


@each("slug, size", MATRIX.items())
def test_one_matrix(slug: str, size: int) -> None:
    assert find_quant(slug).layout.group_bytes(linear(256, 512), DENSE) == size


@each(
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


@each("slug", WEIGHT_ONLY)
@each("name, shape", KEPT)
def test_quantizers_leave_some_tensors_in_16_bits(
    slug: str, name: str, shape: tuple[int, ...]
) -> None:
    (weight_group,) = weight_groups("model", [group(name, shape, range(2))], None)
    assert find_quant(slug).layout.group_bytes(weight_group, DENSE) == 2 * weight_group.parameters


@each("slug", [*WEIGHT_ONLY, "exl2-4.0"])
def test_embeddings_stay_16_bit(slug: str) -> None:
    (table,) = weight_groups("model", [group("model.embed_tokens.weight", (1024, 512))], None)
    assert find_quant(slug).layout.group_bytes(table, DENSE) == 2 * 1024 * 512


@each(
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


@each("slug", SLUGS)
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


@each("slug", SLUGS)
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
