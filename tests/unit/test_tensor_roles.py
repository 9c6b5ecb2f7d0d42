"""Roles of tensors, by their names."""

from __future__ import annotations

import pytest

from gpusizer.model.tensor_roles import Kind, Part, Slot, kind_of, layer_axis, part_of, slot_of

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
