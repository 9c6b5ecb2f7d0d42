"""Tensors: groups of them, and what their names mean."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.hub.tensors import RawTensor, TensorGroup, group_tensors, merge_groups
from gpusizer.model.tensor_roles import Kind, Part, Slot, kind_of, layer_axis, part_of, slot_of
from tests.builders import group

# Components that tempt a grouper: indices, near-indices, placeholders, other scripts' digits.
COMPONENTS = st.one_of(
    st.sampled_from(
        [
            "0",
            "1",
            "2",
            "10",
            "00",
            "007",
            "999999",
            "1000000",
            "-1",
            "{}",
            "{",
            "}",
            "{0}",
            "",
            "layers",
            "experts",
            "expert_0",
            "expert_12",
            "expert_07",
            "expert_",
            "expert_{}",
            "weight",
            "w1",
            "1w",
            "\u0663",
            "\uff11",
            "\u00b2",
            "\n3",
        ]
    ),
    st.integers(0, 12).map(str),
    st.text(max_size=4),
)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=5).map(".".join)
SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
HEADERS = st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(DTYPE_BITS)), SHAPES))


def header(entries: dict[str, tuple[str, tuple[int, ...]]]) -> list[RawTensor]:
    return [(name, dtype, shape) for name, (dtype, shape) in entries.items()]


@given(HEADERS)
def test_grouping_gives_back_every_tensor(entries: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    groups = group_tensors(header(entries))
    restored = [(name, (g.dtype, g.shape)) for g in groups for name in g.names()]
    assert Counter(name for name, _ in restored) == Counter(list(entries))
    assert dict(restored) == entries
    assert sum(g.count for g in groups) == len(entries)
    assert sum(g.elements for g in groups) == sum(math.prod(s) for _, s in entries.values())
    assert sum(g.stored_bytes for g in groups) == sum(
        stored_bytes(dtype, math.prod(shape)) for dtype, shape in entries.values()
    )


ALIKE = st.builds(
    "{}.{}.w{}".format, st.sampled_from("hm"), st.integers(0, 30), st.integers(1, 3)
) | st.sampled_from(["h.07.w1", "h.w1", "{}.w1", "0", "h\n.1.w1"])


@given(st.lists(st.tuples(ALIKE, st.sampled_from(["F32", "BF16"]), SHAPES)))
def test_repeated_names_count_once(tensors: list[RawTensor]) -> None:
    assert set(group_tensors([*tensors, *tensors])) == set(group_tensors(tensors))


@given(st.lists(st.tuples(ALIKE, st.sampled_from(["F32", "BF16"]), SHAPES)), st.integers(0, 9))
def test_groups_of_parts_merge_into_those_of_all(tensors: list[RawTensor], cut: int) -> None:
    parts = [group_tensors(part) for part in (tensors[:cut], tensors[cut:])]
    assert merge_groups(parts) == group_tensors(tensors)


def test_a_repeated_name_counts_once() -> None:
    names = ["h.0.e.0", "h.0.e.0", "h.0.e.1", "h.1.e.0"]
    groups = group_tensors([(name, "F32", (1,)) for name in names])
    assert sorted(name for g in groups for name in g.names()) == sorted(set(names))


@given(HEADERS)
def test_groups_survive_json(entries: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    groups = group_tensors(header(entries))
    restored = json.loads(json.dumps([g.to_json() for g in groups]))
    assert tuple(TensorGroup.from_json(item) for item in restored) == groups


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, unique=True),
    st.sampled_from(["", "expert_"]),
)
def test_any_set_of_experts_is_kept(pairs: list[tuple[int, int]], word: str) -> None:
    names = [f"layers.{layer}.experts.{word}{expert}.w" for layer, expert in pairs]
    groups = group_tensors([(name, "BF16", (2, 3)) for name in names])
    assert sorted(name for g in groups for name in g.names()) == sorted(names)
    assert {g.pattern for g in groups} == {f"layers.{{}}.experts.{word}{{}}.w"}


@pytest.mark.parametrize(
    "experts",
    [
        range(12),
        range(95, 112),
        range(997, 1003),
        range(99_998, 100_002),
        [3, 4, 5, 9, 10],
        [12, 11, 10],
        [7, 8, 9, 0, 1],
        [100, 101, 103, 102],
    ],
)
def test_numbers_are_read_in_any_order(experts: Sequence[int]) -> None:
    names = [f"h.{layer}.e.{expert}.w" for layer in (8, 9) for expert in experts]
    (grouped,) = group_tensors([(name, "F32", (2,)) for name in names])
    assert grouped.indices == ((8, 9), tuple(sorted(experts)))
    (grouped,) = group_tensors([(name, "F32", (2,)) for name in names[: len(experts)]])
    assert grouped.indices == ((8,), tuple(sorted(experts)))


def test_a_full_product_is_one_group() -> None:
    names = [f"model.layers.{i}.mlp.experts.{e}.w1" for i in range(3, 61) for e in range(256)]
    groups = group_tensors([(name, "F8_E4M3", (2048, 7168)) for name in names])
    assert groups == (
        TensorGroup(
            "model.layers.{}.mlp.experts.{}.w1",
            "F8_E4M3",
            (2048, 7168),
            (tuple(range(3, 61)), tuple(range(256))),
        ),
    )
    assert groups[0].count == 58 * 256
    assert groups[0].stored_bytes == 58 * 256 * 2048 * 7168
    assert groups[0].to_json()[3] == ["3-60", "0-255"]
    assert list(groups[0].names()) == names


def test_layers_with_different_experts_are_separate_groups() -> None:
    experts = {0: range(2), 1: range(4), 2: range(2)}
    names = [f"layers.{i}.experts.{e}.w" for i, numbers in experts.items() for e in numbers]
    groups = group_tensors([(name, "BF16", (8,)) for name in names])
    assert [(g.indices, g.count) for g in groups] == [
        (((0, 2), (0, 1)), 4),
        (((1,), (0, 1, 2, 3)), 4),
    ]


@pytest.mark.parametrize(
    "name, pattern, indices",
    [
        ("model.layers.12.mlp.w", "model.layers.{}.mlp.w", ((12,),)),
        ("0.auto_model.weight", "{}.auto_model.weight", ((0,),)),
        ("h.3", "h.{}", ((3,),)),
        ("layers.0.experts.7.w2", "layers.{}.experts.{}.w2", ((0,), (7,))),
        ("conv1d.weight", "conv1d.weight", ()),  # a digit inside a word is no index
        ("layers.007.w", "layers.007.w", ()),  # 7 would be written back without its zeros
        ("layers.1000000.w", "layers.1000000.w", ()),
        ("layers.{}.w", "layers.{}.w", ()),
        ("layers.\u0663.w", "layers.\u0663.w", ()),  # ARABIC-INDIC DIGIT THREE is a letter here
    ],
)
def test_which_numbers_are_indices(
    name: str, pattern: str, indices: tuple[tuple[int, ...], ...]
) -> None:
    (grouped,) = group_tensors([(name, "F16", ())])
    assert (grouped.pattern, grouped.indices) == (pattern, indices)
    assert list(grouped.names()) == [name]


def test_a_literal_placeholder_stays_apart_from_the_pattern() -> None:
    names = ["layers.{}.w", "layers.0.w", "layers.1.w"]
    groups = group_tensors([(name, "F16", (4,)) for name in names])
    assert sorted(name for g in groups for name in g.names()) == sorted(names)
    assert [g.count for g in groups] == [1, 2]


def test_groups_come_in_order_of_first_appearance() -> None:
    entries = [("b", "F16", ()), ("a.1", "F16", (2,)), ("c", "F16", ()), ("a.0", "F16", (2,))]
    groups = group_tensors(entries)
    assert [g.pattern for g in groups] == ["b", "a.{}", "c"]
    assert groups[1].indices == ((0, 1),)


def test_names_of_a_thousand_numbers_stay_as_they_are() -> None:
    zeros, ones = (".".join([digit] * 5000) for digit in "01")
    names = [zeros, f"{zeros}.1", ones]
    groups = group_tensors([(name, "F16", (4,)) for name in names])
    assert [(g.pattern, g.indices) for g in groups] == [(name, ()) for name in names]
    assert merge_groups([groups, groups]) == groups


def test_no_tensors_no_groups() -> None:
    assert group_tensors([]) == ()


@pytest.mark.parametrize(
    ("values", "text"),
    [((0,), "0"), ((0, 1), "0-1"), ((0, 1, 2, 5), "0-2,5"), ((3, 7, 11), "3,7,11")],
)
def test_index_ranges_are_short_and_exact(values: tuple[int, ...], text: str) -> None:
    tensor_group = group("a.{}", (1,), values)
    assert tensor_group.to_json() == ["a.{}", "BF16", [1], [text]]
    assert TensorGroup.from_json(tensor_group.to_json()) == tensor_group


@pytest.mark.parametrize(
    ("shape", "indices", "elements", "size"),
    [
        ((), (), 1, 2),  # a scalar has one element
        ((0, 5), (), 0, 0),
        ((1024, 4096), (range(32),), 32 * 1024 * 4096, 2 * 32 * 1024 * 4096),
    ],
)
def test_group_sizes(
    shape: tuple[int, ...], indices: tuple[range, ...], elements: int, size: int
) -> None:
    tensor_group = group("w.{}" if indices else "w", shape, *indices)
    assert (tensor_group.elements, tensor_group.stored_bytes) == (elements, size)


BLOCK = "model.layers.{}"

KINDS: list[tuple[str, tuple[int, ...], Kind]] = [
    ("model.embed_tokens.weight", (128256, 4096), Kind.EMBEDDING),
    ("wte.weight", (50257, 768), Kind.EMBEDDING),
    ("transformer.word_embeddings.weight", (250880, 14336), Kind.EMBEDDING),
    ("gpt_neox.embed_in.weight", (50432, 6144), Kind.EMBEDDING),
    ("shared.weight", (32128, 512), Kind.EMBEDDING),
    ("embed.weight", (129280, 4096), Kind.EMBEDDING),
    ("model.tok_embeddings.weight", (92544, 4096), Kind.EMBEDDING),
    ("lm_head.weight", (128256, 4096), Kind.OUTPUT),
    ("embed_out.weight", (50432, 6144), Kind.OUTPUT),
    ("transformer.output_layer.weight", (65024, 4096), Kind.OUTPUT),
    ("output.weight", (92544, 4096), Kind.OUTPUT),
    ("head.weight", (129280, 4096), Kind.OUTPUT),
    (f"{BLOCK}.self_attn.q_proj.weight", (4096, 4096), Kind.LINEAR),
    (f"{BLOCK}.attention.output.dense.weight", (768, 768), Kind.LINEAR),  # no output head
    (f"{BLOCK}.mlp.shared_expert.up_proj.weight", (512, 2048), Kind.LINEAR),
    (f"{BLOCK}.mlp.shared_experts.up_proj.weight", (2048, 7168), Kind.LINEAR),
    (f"{BLOCK}.mlp.experts.shared_experts.up_proj.weight", (768, 2048), Kind.LINEAR),
    (f"{BLOCK}.mlp.experts.{{}}.up_proj.weight", (768, 2048), Kind.EXPERT),
    (f"{BLOCK}.block_sparse_moe.experts.{{}}.w1.weight", (14336, 4096), Kind.EXPERT),
    (f"{BLOCK}.mlp.experts.gate_up_proj", (16, 5120, 16384), Kind.EXPERT),
    (f"{BLOCK}.mlp.experts.gate_up_proj_blocks", (32, 5760, 2880), Kind.EXPERT),
    (f"{BLOCK}.block_sparse_moe.input_linear.weight", (72, 1536, 4096), Kind.EXPERT),
    (f"{BLOCK}.mlp.experts.gate_up_proj_bias", (32, 5760), Kind.BIAS),
    (f"{BLOCK}.mlp.gate.weight", (256, 7168), Kind.ROUTER),
    (f"{BLOCK}.block_sparse_moe.gate.weight", (8, 4096), Kind.ROUTER),
    (f"{BLOCK}.mlp.router.weight", (32, 2880), Kind.ROUTER),
    (f"{BLOCK}.block_sparse_moe.router.layer.weight", (72, 4096), Kind.ROUTER),
    (f"{BLOCK}.mlp.gate_proj.weight", (14336, 4096), Kind.LINEAR),  # a gate, but no router
    (f"{BLOCK}.mlp.gate.e_score_correction_bias", (256,), Kind.BIAS),
    (f"{BLOCK}.input_layernorm.weight", (4096,), Kind.NORM),
    ("h.{}.ln_1.weight", (768,), Kind.NORM),
    ("model.norm.weight", (4096,), Kind.NORM),
    ("bert.embeddings.LayerNorm.gamma", (768,), Kind.NORM),
    ("h.{}.attn.c_attn.bias", (2304,), Kind.BIAS),
    ("h.{}.attn.bias", (1, 1, 1024, 1024), Kind.BUFFER),  # GPT-2's causal mask
    ("gpt_neox.layers.{}.attention.bias", (1, 1, 2048, 2048), Kind.BUFFER),
    ("gpt_neox.layers.{}.attention.masked_bias", (), Kind.BUFFER),
    (f"{BLOCK}.self_attn.rotary_emb.inv_freq", (64,), Kind.BUFFER),
    ("text_model.embeddings.position_ids", (1, 77), Kind.BUFFER),
    ("wpe.weight", (1024, 768), Kind.POSITION),
    ("bert.embeddings.position_embeddings.weight", (512, 768), Kind.POSITION),
    (f"{BLOCK}.linear_attn.conv1d.weight", (8192, 1, 4), Kind.CONV),
    ("model.visual.patch_embed.proj.weight", (1280, 3, 2, 14, 14), Kind.CONV),
    (f"{BLOCK}.linear_attn.A_log", (32,), Kind.VECTOR),
    (f"{BLOCK}.self_attn.sinks", (64,), Kind.VECTOR),
    # Matrices that are no linear layer.
    (f"{BLOCK}.mamba.A_log", (8192, 16), Kind.VECTOR),
    (f"{BLOCK}.self_attn.A_log", (1, 1, 32, 1), Kind.VECTOR),
    (f"{BLOCK}.altup.prediction_coefs.weight", (16, 4), Kind.VECTOR),
    (f"{BLOCK}.altup.modality_router.weight", (4, 2048), Kind.VECTOR),
    ("layers.{}.hc_attn_fn", (24, 16384), Kind.VECTOR),
    ("layers.{}.ffn.gate.tid2eid", (129280, 6), Kind.VECTOR),
    ("resampler.query", (64, 2304), Kind.VECTOR),
    ("vision_tower.embeddings.cls_token", (1, 1, 1024), Kind.VECTOR),
    ("layers.{}.attn.indexer.compressor.ape", (4, 256), Kind.POSITION),
    ("vision_model.gated_positional_embedding.embedding", (1601, 1280), Kind.POSITION),
    (
        "encoder.block.{}.layer.{}.SelfAttention.relative_attention_bias.weight",
        (32, 8),
        Kind.POSITION,
    ),
    ("vision_model.gated_positional_embedding.tile_embedding.weight", (9, 8197120), Kind.EMBEDDING),
    ("vocoder.unit_embedding.weight", (10000, 1280), Kind.EMBEDDING),
    (f"{BLOCK}.shared_head.head.weight", (129280, 7168), Kind.OUTPUT),
    (f"{BLOCK}.mlp.router.gate.weight", (128, 1024), Kind.ROUTER),
    ("vision_model.encoder.layers.{}.norm1.weight", (1024,), Kind.NORM),
    ("vision_tower.encoder.layer.{}.layernorm_before.weight", (1024,), Kind.NORM),
    ("text_model.encoder.layers.{}.layer_norm1.weight", (768,), Kind.NORM),
    ("transformer_blocks.{}.attn.norm_added_k.weight", (128,), Kind.NORM),
    ("backbone.norm_f.weight", (8192,), Kind.NORM),
    (f"{BLOCK}.mlp.act_fn.beta", (), Kind.BUFFER),  # xIELU registers it as a buffer
]


@pytest.mark.parametrize("name, shape, kind", KINDS)
def test_kind(name: str, shape: tuple[int, ...], kind: Kind) -> None:
    assert kind_of(name, shape) is kind


PARTS = [
    (f"{BLOCK}.self_attn.q_proj.weight", Part.TEXT),
    ("language_model.model.layers.{}.mlp.up_proj.weight", Part.TEXT),
    ("decoder.block.{}.layer.{}.SelfAttention.q.weight", Part.TEXT),
    ("encoder.block.{}.layer.{}.SelfAttention.q.weight", Part.ENCODER),
    ("transformer.encoder.layers.{}.mlp.dense_h_to_4h.weight", Part.TEXT),  # ChatGLM's decoder
    ("model.encoder.layers.{}.fc1.weight", Part.ENCODER),
    ("vision_tower.vision_model.encoder.layers.{}.mlp.fc1.weight", Part.VISION),
    ("model.vision_backbone.image_vit.transformer.resblocks.{}.attention.wk.weight", Part.VISION),
    ("model.vision_backbone.image_projector.w1.weight", Part.PROJECTOR),
    ("model.vision_backbone.image_pooling_2d.wq.weight", Part.PROJECTOR),
    ("image_tower.encoder.layers.{}.mlp.fc1.weight", Part.VISION),
    ("video_tower.encoder.layers.{}.mlp.fc1.weight", Part.VISION),
    (
        "model.embed_tokens_extend.image_embed.img_processor.encoder.layers.{}.mlp.fc1.weight",
        Part.VISION,
    ),
    ("model.embed_tokens_extend.audio_embed.encoder.encoders.{}.conv.ln1.weight", Part.AUDIO),
    ("model.audio_tokenizer.encoder.layers.{}.weight", Part.AUDIO),
    ("model.vision_tokenizer.encoder.down.{}.block.{}.conv1.weight", Part.VISION),
    ("model.visual.blocks.{}.attn.qkv.weight", Part.VISION),
    ("vision_model.transformer.layers.{}.mlp.fc1.weight", Part.VISION),
    ("model.audio_tower.conformer.{}.lconv1d.linear.weight", Part.AUDIO),
    ("multi_modal_projector.linear_1.weight", Part.PROJECTOR),
    ("model.visual.merger.mlp.{}.weight", Part.PROJECTOR),
    ("mtp.{}.attn.wkv.weight", Part.MTP),
    ("mtp.layers.{}.self_attn.q_proj.weight", Part.MTP),
]


@pytest.mark.parametrize("name, part", PARTS)
def test_part(name: str, part: Part) -> None:
    assert part_of(name) is part


SLOTS = [
    (f"{BLOCK}.self_attn.q_proj.weight", Slot.Q),
    (f"{BLOCK}.self_attn.k_proj.qweight", Slot.K),
    (f"{BLOCK}.self_attn.v_proj.weight_packed", Slot.V),
    ("h.{}.attn.c_attn.weight", Slot.QKV),
    (f"{BLOCK}.self_attention.query_key_value.weight", Slot.QKV),
    (f"{BLOCK}.self_attn.kv_a_proj_with_mqa.weight", Slot.KV_A),
    (f"{BLOCK}.self_attn.kv_b_proj.weight", Slot.KV_B),
    (f"{BLOCK}.self_attn.o_proj.weight", Slot.O),
    (f"{BLOCK}.block_sparse_moe.experts.{{}}.w1.weight", Slot.GATE),
    (f"{BLOCK}.block_sparse_moe.experts.{{}}.w2.weight", Slot.DOWN),
    (f"{BLOCK}.block_sparse_moe.experts.{{}}.w3.weight", Slot.UP),
    (f"{BLOCK}.mlp.experts.gate_up_proj_blocks", Slot.GATE_UP),
    (f"{BLOCK}.mlp.experts.down_proj_blocks", Slot.DOWN),
    (f"{BLOCK}.mlp.dense_4h_to_h.weight", Slot.DOWN),
    ("lm_head.weight", Slot.OTHER),
    # what leaves a recurrent block is no output of attention
    (f"{BLOCK}.linear_attn.out_proj.weight", Slot.OTHER),
    (f"{BLOCK}.mamba.out_proj.weight", Slot.OTHER),
    ("backbone.layers.{}.mixer.out_proj.weight", Slot.OTHER),
    (f"{BLOCK}.conv.out_proj.weight", Slot.OTHER),
    ("blk.{}.ssm_out.weight", Slot.OTHER),
    ("model.decoder.layers.{}.self_attn.out_proj.weight", Slot.O),
    ("transformer.h.{}.attn.out_proj.weight", Slot.O),
]


@pytest.mark.parametrize("name, slot", SLOTS)
def test_slot(name: str, slot: Slot) -> None:
    assert slot_of(name) is slot


@pytest.mark.parametrize(
    "name, axis",
    [
        ("model.layers.{}.mlp.experts.{}.w1.weight", 0),
        ("h.{}.attn.c_attn.weight", 0),
        ("transformer.blocks.{}.ffn.up_proj.weight", 0),
        ("{}.auto_model.encoder.layer.{}.output.dense.weight", 1),
        ("decoder.block.{}.layer.{}.SelfAttention.q.weight", 0),
        ("model.norm.weight", None),
        ("mlp1.{}.weight", None),  # a numbered projector is no layer stack
    ],
)
def test_which_placeholder_counts_layers(name: str, axis: int | None) -> None:
    assert layer_axis(name) == axis
