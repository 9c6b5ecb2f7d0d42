"""Sizes of GGUF files: what the converter drops, doubles and keeps wide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.memory.model_shape import model_shape
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.memory.quants.recipes import RECIPES
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from tests.builders import llama, quantized_bytes, tiny
from tests.families import deepseek_r1
from tests.gguf_rows import DENSE, ROW, block_row, llama_8b, tied


def test_a_whole_small_model() -> None:
    profile = build_profile(tiny())
    # Q8_0 is 34 bytes per 32 weights; the 9 norms of 256 are FP32.
    matrices = profile.parameters - 9 * 256
    assert quantized_bytes("q8_0", profile) == matrices * 34 // 32 + 9 * 256 * 4


def test_a_head_the_converter_writes_again_is_counted_again() -> None:
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, shape=(1000, ROW))
    head = replace(table, kind=Kind.OUTPUT, duplicate=True)
    layout, stored_once = Gguf(RECIPES["q4_0"]), tied(llama_8b())
    doubled = replace(stored_once, doubles_head=True, stores_head=True)
    assert (
        layout.group_bytes(table, stored_once) + layout.group_bytes(head, stored_once) == 1000 * 210
    )
    assert layout.group_bytes(table, doubled) + layout.group_bytes(head, doubled) == 1000 * (
        144 + 210
    )
    falcon = replace(doubled, wide_head=True)  # llama.cpp keeps Falcon's head at Q8_0
    assert layout.group_bytes(head, falcon) == 1000 * 272


def test_an_embedding_trained_for_q4_0_is_published_wider() -> None:
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, shape=(1000, ROW))
    trained = tied(llama_8b(), trained_for_q4_0=True)
    assert Gguf(RECIPES["q4_0"]).group_bytes(table, trained) == 1000 * 272
    assert Gguf(RECIPES["q4_k_m"]).group_bytes(table, trained) == 1000 * 210


def test_a_table_of_one_row_a_layer_follows_a_tied_head() -> None:
    """Q6_K as the head, Q4_K where there is a head of its own or in files of Gemma 3n."""
    layout, model = Gguf(RECIPES["q4_k_m"]), tied(llama_8b())
    for name in ("model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"):
        table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, pattern=name)
        assert layout.group_bytes(table, model) == 210
        assert layout.group_bytes(table, replace(model, doubles_head=True)) == 210
        assert layout.group_bytes(table, replace(model, tied_embeddings=False)) == 144
        assert layout.group_bytes(table, replace(model, narrow_layer_table=True)) == 144
    assert model_shape(build_profile(llama(model_type="gemma3n"))).narrow_layer_table
    assert not model.narrow_layer_table


def test_gemma_3n_keeps_small_matrices() -> None:
    layout, model = Gguf(RECIPES["q4_k_m"]), tied(llama_8b())
    for pattern in (
        "model.layers.{}.laurel.linear_left.weight",
        "model.altup_projections.{}.weight",
        "model.per_layer_model_projection.weight",
        "blk.{}.laurel_l.weight",
        "blk.{}.altup_router.weight",
        "altup_proj.weight",
        "per_layer_model_proj.weight",
    ):
        assert layout.group_bytes(block_row(Slot.OTHER, pattern=pattern), model) == 2 * ROW


def test_draft_layers_stay_where_the_converter_keeps_them() -> None:
    draft = block_row(Slot.UP, part=Part.MTP, layers=(32,))
    table = replace(draft, kind=Kind.EMBEDDING)
    with_drafts = replace(DENSE, keeps_drafts=True)
    assert Gguf(RECIPES["q8_0"]).group_bytes(draft, with_drafts) == 272
    assert Gguf(RECIPES["q8_0"]).group_bytes(table, with_drafts) == 272
    glm = build_profile(llama(model_type="glm4_moe"))
    assert model_shape(glm).keeps_drafts
    assert not model_shape(llama_8b()).keeps_drafts


def test_the_latent_of_mla_is_split_into_keys_and_values() -> None:
    """R1: 128 heads, keys of 128 and values of 128; rows of 128 do not fill blocks of 256."""
    model = model_shape(build_profile(deepseek_r1()))
    assert (model.attention_heads, model.latent_key_dim) == (128, 128)
    kv_b = block_row(Slot.KV_B, shape=(128 * (128 + 128), 512))
    keys, values = 128 * 512 * (128 // 32 * 22), 128 * 128 * (512 // 256 * 144)
    assert Gguf(RECIPES["q4_k_m"]).group_bytes(kv_b, model) == keys + values
    # MXFP4_MOE takes matrices of three sides for experts: 4 blocks of 17 bytes for 128 values
    narrow = 128 * 512 * (128 // 32 * 17) + 128 * 128 * (512 // 32 * 17)
    assert Gguf(RECIPES["mxfp4_moe"]).group_bytes(kv_b, model) == narrow


def test_the_header_follows_the_vocabulary() -> None:
    # 7.83 MB in published Llama-3 files, 0.74 in Llama 2's, 6.53 in Gemma 3's, 5.96 in Qwen's,
    # 13.01 in those of gpt-oss; Qwen3.5 has 44 bytes a token
    for size, tokens, kind in (
        (7.83, 128_256, "llama"),
        (0.74, 32_000, "llama"),
        (6.53, 262_144, "gemma3"),
        (5.96, 151_936, "qwen3"),
        (13.01, 201_088, "gpt_oss"),
        (10.93, 248_320, "qwen3_5_text"),
    ):
        facts = build_profile(llama(vocab=tokens, model_type=kind)).architecture
        assert header_bytes(facts) / 1e6 == pytest.approx(size, rel=0.06)
    assert header_bytes(None) == 0
