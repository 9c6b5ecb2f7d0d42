"""Packing and weights of `gpusizer.model`: every stored layout gives back the same parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.hub.tensors import TensorGroup
from gpusizer.model.packing import (
    StoredQuantization,
    is_quant_aux,
)
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.model.unpacking import Neighbours, logical_shape
from gpusizer.model.weights import mark_tied_output, split_mtp_layers, weight_groups, with_layers
from tests.builders import group, llama, llama_70b, qwen2_14b, tiny, with_tensors
from tests.newer_layouts import ALL_LAYOUTS
from tests.packed_layouts import (
    Axes,
    Layout,
    bnb_nf4,
    fp8_tensor,
    gptq,
    gptq_with_biases,
    per_channel,
)

# Embedding and head 2 x 128256 x 4096 = 1,050,673,152; a layer: q and o 2 x 4096 x 4096,
# k and v 2 x 1024 x 4096, MLP 3 x 14336 x 4096, norms 2 x 4096 = 218,112,000; 32 of them,
# and a last norm of 4096.
LLAMA_8B = 1_050_673_152 + 32 * 218_112_000 + 4096


def quantized(build: Any, name: str) -> Any:
    linear, settings = ALL_LAYOUTS[name]
    return build_profile(build(linear=linear, config={"quantization_config": settings}))


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_packing_does_not_change_the_parameters(name: str) -> None:
    profile = quantized(llama, name)
    assert profile.parameters == LLAMA_8B == 8_030_261_248
    assert profile.kv_cache_bytes_per_token == 131_072  # 32 x 2 x 8 x 128 x 2 bytes
    assert profile.weight_bytes < 2 * LLAMA_8B


# bitsandbytes and HQQ flatten the matrix, tinygemm tiles it
SIDES_LOST = ("bnb-nf4", "hqq-", "torchao-tiles")
SIDES_KEPT = [name for name in ALL_LAYOUTS if not name.startswith(SIDES_LOST)]


@pytest.mark.parametrize("name", SIDES_KEPT)
def test_packed_matrices_have_their_sides_back(name: str) -> None:
    profile = quantized(llama, name)
    shapes = {g.pattern.split(".")[4]: g.shape for g in profile.groups if g.kind is Kind.LINEAR}
    assert shapes == {
        "q_proj": (4096, 4096),
        "k_proj": (1024, 4096),
        "v_proj": (1024, 4096),
        "o_proj": (4096, 4096),
        "gate_proj": (14336, 4096),
        "up_proj": (14336, 4096),
        "down_proj": (4096, 14336),
    }


@pytest.mark.parametrize(
    "name, build, published",
    [
        ("w8a8-int8", llama, 9_083_953_152),
        ("fp8-tensor", llama, 9_081_202_432),
        ("gptq-biases", llama, 5_735_587_840),
        ("fp8-dynamic", llama_70b, 72_669_806_592),
        ("nvfp4", llama_70b, 42_709_045_632),
        ("awq", qwen2_14b, 9_980_028_928),
    ],
)
def test_stored_bytes_are_those_of_published_files(name: str, build: Any, published: int) -> None:
    assert quantized(build, name).weight_bytes == published


def test_bitsandbytes_state_blobs_vary_by_a_few_bytes() -> None:
    published = 5_702_577_951  # its JSON blobs are 172 or 173 bytes, the builder's 172
    assert abs(quantized(llama, "bnb-nf4").weight_bytes - published) <= 200


@given(
    name=st.sampled_from(sorted(ALL_LAYOUTS)),
    rows=st.integers(1, 8),
    columns=st.integers(1, 8),
    layers=st.integers(1, 4),
)
def test_any_matrix_is_unpacked(name: str, rows: int, columns: int, layers: int) -> None:
    linear, settings = ALL_LAYOUTS[name]
    sizes = {"hidden": 256 * columns, "ffn": 256 * rows, "layers": layers}
    packed = build_profile(tiny(**sizes, linear=linear, config={"quantization_config": settings}))
    assert packed.parameters == build_profile(tiny(**sizes)).parameters


def dtypes(*groups: TensorGroup) -> dict[str, str]:
    return {g.pattern: g.dtype for g in groups}


@pytest.mark.parametrize(
    "suffix, dtype, weight, is_aux",
    [
        (".weight_scale_inv", "F32", ("p.weight", "F8_E4M3"), True),
        (".scales", "BF16", ("p.weight", "U32"), True),
        (".biases", "BF16", ("p.weight", "U32"), True),
        (".scale", "F8_E8M0", ("p.weight", "I8"), True),
        (".scale", "BF16", ("p.weight", "BF16"), False),  # a router's own scale
        (".biases", "BF16", ("p.weight", "BF16"), False),
        (".scale", "BF16", ("q.weight", "I8"), False),  # another tensor's weight proves nothing
        ("_scales", "U8", ("p_blocks", "U8"), True),
        (".g_idx", "I32", ("p.qweight", "I32"), True),
        (".weight_shape", "I64", ("p.weight_packed", "I32"), True),
        (".k_scale", "F32", ("q.weight", "BF16"), True),  # of the KV cache, no weight needed
        (".bias", "BF16", ("p.weight", "U32"), False),
        (".q_invperm", "I32", ("p.q_weight", "I32"), True),
        (".suh", "F16", ("p.trellis", "I16"), True),
        (".zero", "BF16", ("p.W_q", "BF16"), True),
        (".shape", "I64", ("p.weight", "I8"), False),  # HQQ's, so only beside its W_q
        ("._weight_scale", "F32", ("p._weight_qdata", "F8_E4M3"), True),
    ],
)
def test_auxiliary_tensors_of_quantizers_are_recognised(
    suffix: str, dtype: str, weight: tuple[str, str], is_aux: bool
) -> None:
    companion = group(weight[0], (8, 8), dtype=weight[1])
    candidate = group(f"p{suffix}", (8,), dtype=dtype)
    assert is_quant_aux(candidate, dtypes(companion, candidate)) is is_aux


Q4 = StoredQuantization("gptq", 4, 128)


@pytest.mark.parametrize(
    "stored, companions, quantization, shape",
    [
        (("p.qweight", (512, 1024), "I32"), (), Q4, (1024, 4096)),
        (("p.qweight", (96, 64), "I32"), (), StoredQuantization("gptq", 3), (64, 1024)),
        (("p.qweight", (4096, 128), "I32"), (), StoredQuantization("awq", 4), (1024, 4096)),
        (("p.qweight", (512, 1024), "I32"), (), None, (1024, 512)),  # bits unknown: as stored
        (("p_blocks", (32, 5760, 90, 16), "U8"), (), None, (32, 5760, 2880)),
        (("p.weight", (8388608, 1), "U8"), ("p.weight.absmax",), None, (16777216,)),
        (
            ("p.weight", (1024, 512), "U32"),
            ("p.scales",),
            StoredQuantization("mlx", 4),
            (1024, 4096),
        ),
        (("p.weight", (160, 2560), "U8"), ("p.weight_scale",), None, (640, 2560)),
        (("p.weight", (64, 64), "U8"), (), None, (64, 64)),  # bytes that nothing says are packed
        (("p.weight_packed", (), "I32"), (), Q4, ()),
    ],
)
def test_logical_shape(
    stored: tuple[str, tuple[int, ...], str],
    companions: tuple[str, ...],
    quantization: StoredQuantization | None,
    shape: tuple[int, ...],
) -> None:
    name, stored_shape, dtype = stored
    packed = group(name, stored_shape, dtype=dtype)
    neighbours = Neighbours([packed, *(group(name, (), dtype="BF16") for name in companions)])
    assert logical_shape(packed, neighbours, quantization) == shape


ODD_SHAPES: dict[str, tuple[int, ...]] = {
    "no side": (),
    "five sides": (2, 2, 2, 2, 2),
    "a side of zero": (0,),
    "two sides of zero": (0, 0),
    "a huge side": (2**40,),
    "a huge side and a zero": (2**62, 0),
    "two huge sides": (2**30, 2**30),
}
TOLD = {"packing_not_proven", "quantization_width_unknown"}


def companions(name: str) -> list[str]:
    """Name endings of the tensors that a layout stores beside a packed matrix."""
    linear, _ = ALL_LAYOUTS[name]
    tensors = linear("p", 256, 256, (range(4),))
    return sorted({t.pattern for t in tensors if is_quant_aux(t, dtypes(*tensors))})


@cache
def honest_parameters(name: str) -> int:
    linear, settings = ALL_LAYOUTS[name]
    return build_profile(tiny(linear=linear, config={"quantization_config": settings})).parameters


@pytest.mark.parametrize("shape", ODD_SHAPES)
@pytest.mark.parametrize(
    "name, companion",
    [(name, companion) for name in ALL_LAYOUTS for companion in companions(name)],
)
def test_an_odd_scale_shape_gets_a_note_or_changes_nothing(
    name: str, companion: str, shape: str
) -> None:
    linear, settings = ALL_LAYOUTS[name]

    def odd(stem: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        return [
            replace(t, shape=ODD_SHAPES[shape]) if t.pattern == stem + companion[1:] else t
            for t in linear(stem, rows, columns, axes)
        ]

    config = {"quantization_config": settings}
    profile = build_profile(tiny(linear=odd, config=config))
    note_codes = {note.code for note in profile.caveats}
    assert profile.parameters == honest_parameters(name) or note_codes & TOLD


@pytest.mark.parametrize(
    "suffix, shape, dtype",
    [
        (".qweight", (8,), "I32"),
        (".weight_packed", (), "U8"),
        ("_blocks", (8, 8), "U8"),
        (".q_weight", (8, 8), "I32"),  # without its q_invperm
        (".trellis", (4, 4, 15), "I16"),
    ],
)
def test_a_packed_weight_of_an_unknown_layout_gets_a_note(
    suffix: str, shape: tuple[int, ...], dtype: str
) -> None:
    tensors = [*tiny().components[0].tensors, group(f"p{suffix}", shape, dtype=dtype)]
    profile = build_profile(with_tensors(tiny(), tensors))
    (note,) = [note for note in profile.caveats if note.code == "packing_not_proven"]
    assert note.fields == {"tensor": f"p{suffix}", "count": 1}


LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
GPTQ = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}


@pytest.mark.parametrize(
    "facts, real",
    [
        ({}, ""),
        ({"attention_bias": False, "mlp_bias": False}, ""),
        ({"attention_bias": True}, "q_proj k_proj v_proj o_proj"),
        ({"mlp_bias": True}, "gate_proj up_proj down_proj"),
        ({"model_type": "qwen2"}, "q_proj k_proj v_proj"),
        ({"model_type": "qwen2", "attention_bias": True}, "q_proj k_proj v_proj o_proj"),
        ({"model_type": "newest"}, " ".join(LINEARS)),  # nothing is known: they count
        ({"model_type": "newest", "no_bias": True}, ""),
        ({"model_type": "newest", "no_bias": False}, " ".join(LINEARS)),
        ({"model_type": "newest", "use_bias": True}, " ".join(LINEARS)),
        ({"model_type": "newest", "bias": False}, ""),
        (
            {"model_type": "chatglm", "add_bias_linear": False, "add_qkv_bias": True},
            "q_proj k_proj v_proj",
        ),
        (
            {"model_type": "qwen2_moe", "qkv_bias": False},
            "o_proj gate_proj up_proj down_proj",
        ),
    ],
)
def test_padding_is_distinguished_from_real_biases(facts: dict[str, Any], real: str) -> None:
    config = {**GPTQ, **facts}
    padded = build_profile(tiny(linear=gptq_with_biases, config=config))
    biases = {g.pattern.split(".")[4]: g for g in padded.groups if g.pattern.endswith(".bias")}
    assert set(biases) == set(LINEARS)
    counted_names = {name for name, bias in biases.items() if bias.parameters}
    assert counted_names == set(real.split())
    assert padded.parameters == build_profile(tiny()).parameters + sum(
        bias.parameters for bias in biases.values()
    )


def test_a_bias_without_a_packed_weight_of_its_own_is_real() -> None:
    """Qwen-VL-Chat-Int4: its vision tower is not quantized and has 970,368 parameters in biases."""
    packed = tiny(linear=gptq_with_biases, config=GPTQ)
    tower = [
        group("transformer.visual.attn.{}.in_proj.weight", (192, 64), range(3)),
        group("transformer.visual.attn.{}.in_proj.bias", (192,), range(3)),
        group("model.layers.{}.self_attn.w_proj.bias", (64,), range(4)),
    ]
    with_tower = with_tensors(packed, [*packed.components[0].tensors, *tower])
    added = build_profile(with_tower).parameters - build_profile(packed).parameters
    assert added == 3 * (192 * 64 + 192) + 4 * 64


def test_only_gptq_pads_with_biases() -> None:
    awq = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    profile = build_profile(tiny(linear=gptq_with_biases, config=awq))
    assert all(g.parameters for g in profile.groups if g.pattern.endswith(".bias"))


@pytest.mark.parametrize("linear", [gptq(), bnb_nf4, fp8_tensor, per_channel("I8")])
def test_storage_of_a_matrix_is_one_parameter_group_and_its_companions(linear: Layout) -> None:
    tensors = linear("model.layers.{}.self_attn.q_proj", 256, 128, (range(4),))
    groups = weight_groups("model", tensors, Q4)
    weights = [g for g in groups if g.parameters]
    assert [(g.parameters, g.kind, g.layers) for g in weights] == [
        (4 * 256 * 128, Kind.LINEAR, (0, 1, 2, 3))
    ]
    assert {g.kind for g in groups if g not in weights} == {Kind.QUANT_AUX}
    assert sum(g.stored_bytes for g in groups) == sum(t.stored_bytes for t in tensors)


def test_draft_layers_leave_the_text_stack() -> None:
    tensors = [group("model.layers.{}.mlp.experts.{}.w1.weight", (8, 4), range(1, 4), range(2))]
    split = split_mtp_layers(weight_groups("model", tensors, None), layers=3)
    assert [(g.part, g.layers, g.count, g.parameters) for g in split] == [
        (Part.TEXT, (1, 2), 4, 4 * 32),
        (Part.MTP, (3,), 2, 2 * 32),
    ]
    assert sum(g.stored_bytes for g in split) == tensors[0].stored_bytes


def test_only_an_equal_embedding_makes_a_head_a_duplicate() -> None:
    tensors = [group("model.embed_tokens.weight", (64, 8)), group("lm_head.weight", (64, 8))]
    assert [g.duplicate for g in mark_tied_output(weight_groups("m", tensors, None))] == [
        False,
        True,
    ]
    larger = [tensors[0], group("lm_head.weight", (65, 8))]
    assert not any(g.duplicate for g in mark_tied_output(weight_groups("m", larger, None)))


def test_a_tensor_outside_the_layers_cannot_be_restricted_to_some() -> None:
    (outside,) = weight_groups("m", [group("lm_head.weight", (8, 8))], None)
    with pytest.raises(ValueError, match="outside the layer stack"):
        with_layers(outside, (0,))


def test_literal_braces_are_no_layer() -> None:
    (odd,) = weight_groups("m", [group("model.layers.{}.weird.weight", (8, 8))], None)
    assert (odd.layers, odd.count, odd.parameters) == (None, 1, 64)
