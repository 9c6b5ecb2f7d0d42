"""gpusizer.packing and gpusizer.weights: every stored layout gives back the same parameters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.packing import (
    WEIGHT_SUFFIXES,
    StoredQuantization,
    is_quant_aux,
    spare_biases,
)
from gpusizer.profile import build_profile
from gpusizer.quantization import quantization_of_tensors
from gpusizer.roles import Kind, Part
from gpusizer.tensors import TensorGroup
from gpusizer.unpacking import Neighbours, logical_shape
from gpusizer.weights import mark_tied_output, split_mtp_layers, weight_groups, with_layers
from tests.builders import group, llama, llama_70b, qwen2_14b, tiny
from tests.newer_layouts import ALL_LAYOUTS
from tests.packed_layouts import Layout, bnb_nf4, fp8_tensor, gptq, per_channel

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
        "q_proj": (4096, 4096), "k_proj": (1024, 4096), "v_proj": (1024, 4096),
        "o_proj": (4096, 4096), "gate_proj": (14336, 4096), "up_proj": (14336, 4096),
        "down_proj": (4096, 14336),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "build", "published"),
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
    ("suffix", "dtype", "weight", "is_aux"),
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
def test_what_only_serves_to_unpack(
    suffix: str, dtype: str, weight: tuple[str, str], is_aux: bool
) -> None:
    companion = group(weight[0], (8, 8), dtype=weight[1])
    candidate = group(f"p{suffix}", (8,), dtype=dtype)
    assert is_quant_aux(candidate, dtypes(companion, candidate)) is is_aux


Q4 = StoredQuantization("gptq", 4, 128)


@pytest.mark.parametrize(
    ("stored", "companions", "quantization", "shape"),
    [
        (("p.qweight", (512, 1024), "I32"), (), Q4, (1024, 4096)),
        (("p.qweight", (96, 64), "I32"), (), StoredQuantization("gptq", 3), (64, 1024)),
        (("p.qweight", (4096, 128), "I32"), (), StoredQuantization("awq", 4), (1024, 4096)),
        (("p.qweight", (512, 1024), "I32"), (), None, (1024, 512)),  # bits unknown: as stored
        (("p_blocks", (32, 5760, 90, 16), "U8"), (), None, (32, 5760, 2880)),
        (("p.weight", (8388608, 1), "U8"), ("p.weight.absmax",), None, (16777216,)),
        (("p.weight", (1024, 512), "U32"), ("p.scales",), StoredQuantization("mlx", 4),
         (1024, 4096)),
        (("p.weight", (160, 2560), "U8"), ("p.weight_scale",), None, (640, 2560)),
        (("p.weight", (64, 64), "U8"), (), None, (64, 64)),  # bytes that nothing says are packed
        (("p.weight_packed", (), "I32"), (), Q4, ()),
    ],
)  # fmt: skip
def test_logical_shape(
    stored: tuple[str, tuple[int, ...], str],
    companions: tuple[str, ...],
    quantization: StoredQuantization | None,
    shape: tuple[int, ...],
) -> None:
    name, stored_shape, dtype = stored
    one = group(name, stored_shape, dtype=dtype)
    beside = Neighbours([one, *(group(name, (), dtype="BF16") for name in companions)])
    assert logical_shape(one, beside, quantization) == shape


@pytest.mark.parametrize(
    ("pattern", "method", "real", "spare"),
    [
        ("l.{}.o_proj.bias", "gptq", ["q_proj"], True),
        ("l.{}.q_proj.bias", "gptq", ["q_proj"], False),
        ("l.{}.o_proj.bias", "gptq", None, False),  # the model class is unknown
        ("l.{}.o_proj.bias", "awq", [], False),
        ("l.{}.o_proj.weight", "gptq", [], False),
    ],
)
def test_zero_biases(pattern: str, method: str, real: list[str] | None, spare: bool) -> None:
    assert spare_biases(pattern, method, real) is spare


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


SUFFIXES = st.sampled_from(
    [*WEIGHT_SUFFIXES, ".scales", ".scale", ".g_idx", ".q_invperm", ".weight_scale", ".zero",
     ".weight.absmax", "._weight_scale", ".suh"]
)  # fmt: skip
SHAPES = st.lists(st.integers(0, 2**40), max_size=5).map(tuple)
TENSORS = st.lists(
    st.builds(
        lambda suffix, dtype, shape, last: group(
            f"l.{{}}.p{suffix}", shape, range(last), dtype=dtype
        ),
        SUFFIXES,
        st.sampled_from(["I32", "U8", "I16", "U32", "I8", "F16", "F8_E4M3", "F8_E8M0"]),
        SHAPES,
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=6,
)
QUANTIZATIONS = st.none() | st.builds(
    StoredQuantization,
    st.sampled_from(["gptq", "awq", "hqq", "exl3", "mlx", "newest"]),
    st.none() | st.integers(1, 16),
    st.none() | st.integers(1, 2**40),
)


@given(TENSORS, QUANTIZATIONS)
def test_hostile_companions_never_give_impossible_shapes(
    tensors: list[TensorGroup], quantization: StoredQuantization | None
) -> None:
    for one in weight_groups("model", tensors, quantization):
        assert all(type(side) is int and side >= 0 for side in one.shape)
        assert one.parameters >= 0
    quantization_of_tensors(tensors)
