"""Builders of models whose tensors differ from Llama's: MLA, hybrids, fused experts, GPT-2."""

from __future__ import annotations

from typing import Any

from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.hub.tensors import TensorGroup
from tests.builders import Config, Linear, group, plain, snapshot
from tests.packed_layouts import fp8_blocks, mxfp4_experts


def gpt2(
    *,
    layers: int = 12,
    hidden: int = 768,
    vocab: int = 50257,
    context: int = 1024,
    config: Config | None = None,
) -> RepoSnapshot:
    """GPT-2: [in, out] matrices, causal masks stored as buffers, no stored head."""
    layer_numbers = range(layers)
    tensors = [
        group("wte.weight", (vocab, hidden), dtype="F32"),
        group("wpe.weight", (context, hidden), dtype="F32"),
    ]
    matrices = {
        "attn.c_attn": (hidden, 3 * hidden),
        "attn.c_proj": (hidden, hidden),
        "mlp.c_fc": (hidden, 4 * hidden),
        "mlp.c_proj": (4 * hidden, hidden),
    }
    for name, shape in matrices.items():
        tensors.append(group(f"h.{{}}.{name}.weight", shape, layer_numbers, dtype="F32"))
        tensors.append(group(f"h.{{}}.{name}.bias", shape[1:], layer_numbers, dtype="F32"))
    for name in ("ln_1", "ln_2"):
        tensors += [
            group(f"h.{{}}.{name}.{part}", (hidden,), layer_numbers, dtype="F32")
            for part in ("weight", "bias")
        ]
    tensors += [group(f"ln_f.{part}", (hidden,), dtype="F32") for part in ("weight", "bias")]
    tensors.append(group("h.{}.attn.bias", (1, 1, context, context), layer_numbers, dtype="F32"))
    facts: Config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "n_layer": layers,
        "n_embd": hidden,
        "n_head": hidden // 64,
        "n_ctx": context,
        "n_positions": context,
        "vocab_size": vocab,
    }
    return snapshot(tensors, {**facts, **(config or {})})


def gpt_oss_20b(*, layers: int = 24, config: Config | None = None) -> RepoSnapshot:
    """gpt-oss-20b: fused MXFP4 experts, attention sinks, alternating sliding windows."""
    layer_numbers, hidden = range(layers), 2880
    block = "model.layers.{}"
    tensors = [
        group("model.embed_tokens.weight", (201088, hidden)),
        group("lm_head.weight", (201088, hidden)),
        group("model.norm.weight", (hidden,)),
    ]
    for name, rows, columns in (
        ("q_proj", 4096, hidden),
        ("k_proj", 512, hidden),
        ("v_proj", 512, hidden),
        ("o_proj", hidden, 4096),
    ):
        tensors.append(group(f"{block}.self_attn.{name}.weight", (rows, columns), layer_numbers))
        tensors.append(group(f"{block}.self_attn.{name}.bias", (rows,), layer_numbers))
    tensors.append(group(f"{block}.self_attn.sinks", (64,), layer_numbers))
    tensors += [
        group(f"{block}.{norm}.weight", (hidden,), layer_numbers)
        for norm in ("input_layernorm", "post_attention_layernorm")
    ]
    tensors += [
        group(f"{block}.mlp.router.weight", (32, hidden), layer_numbers),
        group(f"{block}.mlp.router.bias", (32,), layer_numbers),
    ]
    for name, rows in (("gate_up_proj", 5760), ("down_proj", hidden)):
        tensors += mxfp4_experts(f"{block}.mlp.experts.{name}", 32, rows, hidden, (layer_numbers,))
        tensors.append(group(f"{block}.mlp.experts.{name}_bias", (32, rows), layer_numbers))
    facts: Config = {
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "intermediate_size": hidden,
        "vocab_size": 201088,
        "max_position_embeddings": 131072,
        "num_local_experts": 32,
        "num_experts_per_tok": 4,
        "sliding_window": 128,
        "tie_word_embeddings": False,
        "layer_types": ["sliding_attention", "full_attention"] * (layers // 2),
        "quantization_config": {"quant_method": "mxfp4"},
    }
    return snapshot(tensors, {**facts, **(config or {})})


def _qwen3_next_mixers(block: str, hidden: int, layers: int) -> list[TensorGroup]:
    """Tensors of attention in every fourth layer, and of gated delta nets in the others."""
    full = [i for i in range(layers) if i % 4 == 3]
    linear = [i for i in range(layers) if i % 4 != 3]
    tensors: list[TensorGroup] = []
    for name, shape in {
        "q_proj.weight": (8192, hidden),
        "k_proj.weight": (512, hidden),
        "v_proj.weight": (512, hidden),
        "o_proj.weight": (hidden, 4096),
        "q_norm.weight": (256,),
        "k_norm.weight": (256,),
    }.items():
        tensors.append(group(f"{block}.self_attn.{name}", shape, full))
    for name, shape in {
        "A_log": (32,),
        "dt_bias": (32,),
        "conv1d.weight": (8192, 1, 4),
        "in_proj_ba.weight": (64, hidden),
        "norm.weight": (128,),
        "in_proj_qkvz.weight": (12288, hidden),
        "out_proj.weight": (hidden, 4096),
    }.items():
        tensors.append(group(f"{block}.linear_attn.{name}", shape, linear))
    return tensors


def _qwen3_next_config(hidden: int, layers: int, experts: int) -> Config:
    return {
        "architectures": ["Qwen3NextForCausalLM"],
        "model_type": "qwen3_next",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "intermediate_size": 5120,
        "vocab_size": 151936,
        "max_position_embeddings": 262144,
        "num_experts": experts,
        "num_experts_per_tok": 10,
        "full_attention_interval": 4,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_value_head_dim": 128,
        "tie_word_embeddings": False,
    }


def qwen3_next(
    *, layers: int = 48, experts: int = 512, config: Config | None = None
) -> RepoSnapshot:
    """Qwen3-Next-80B without its draft layer: three gated delta nets for each attention layer."""
    layer_numbers, hidden, block = range(layers), 2048, "model.layers.{}"
    tensors = [
        group("model.embed_tokens.weight", (151936, hidden)),
        group("lm_head.weight", (151936, hidden)),
        group("model.norm.weight", (hidden,)),
    ]
    tensors += _qwen3_next_mixers(block, hidden, layers)
    for name, shape in {
        "gate_proj": (512, hidden),
        "up_proj": (512, hidden),
        "down_proj": (hidden, 512),
    }.items():
        tensors.append(
            group(f"{block}.mlp.experts.{{}}.{name}.weight", shape, layer_numbers, range(experts))
        )
        tensors.append(group(f"{block}.mlp.shared_expert.{name}.weight", shape, layer_numbers))
    tensors += [
        group(f"{block}.mlp.gate.weight", (experts, hidden), layer_numbers),
        group(f"{block}.mlp.shared_expert_gate.weight", (1, hidden), layer_numbers),
    ]
    tensors += [
        group(f"{block}.{norm}.weight", (hidden,), layer_numbers)
        for norm in ("input_layernorm", "post_attention_layernorm")
    ]
    facts = _qwen3_next_config(hidden, layers, experts)
    return snapshot(tensors, {**facts, **(config or {})})


def _deepseek_r1_config(hidden: int, layers: int, experts: int) -> Config:
    return {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 128,
        "num_key_value_heads": 128,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "vocab_size": 129280,
        "max_position_embeddings": 163840,
        "n_routed_experts": experts,
        "num_experts_per_tok": 8,
        "num_nextn_predict_layers": 1,
        "tie_word_embeddings": False,
    }


def deepseek_r1(
    *,
    layers: int = 61,
    experts: int = 256,
    linear: Linear = fp8_blocks,
    config: Config | None = None,
) -> RepoSnapshot:
    """DeepSeek-R1: MLA, three dense layers, FP8 in blocks, and a draft layer after the last."""
    hidden, block = 7168, "model.layers.{}"
    layer_numbers, dense, sparse = range(layers + 1), range(3), range(3, layers + 1)
    draft = (layers,)
    tensors: list[TensorGroup] = []
    for name, rows, columns in (
        ("q_a_proj", 1536, hidden),
        ("q_b_proj", 24576, 1536),
        ("kv_a_proj_with_mqa", 576, hidden),
        ("kv_b_proj", 32768, 512),
        ("o_proj", hidden, 16384),
    ):
        tensors += linear(f"{block}.self_attn.{name}", rows, columns, (layer_numbers,))
    for place, width, axes in (
        ("mlp", 18432, (dense,)),
        ("mlp.shared_experts", 2048, (sparse,)),
        ("mlp.experts.{}", 2048, (sparse, range(experts))),
    ):
        tensors += linear(f"{block}.{place}.gate_proj", width, hidden, axes)
        tensors += linear(f"{block}.{place}.up_proj", width, hidden, axes)
        tensors += linear(f"{block}.{place}.down_proj", hidden, width, axes)
    tensors += [
        group(f"{block}.mlp.gate.weight", (experts, hidden), sparse),
        group(f"{block}.mlp.gate.e_score_correction_bias", (experts,), sparse, dtype="F32"),
        group(f"{block}.self_attn.q_a_layernorm.weight", (1536,), layer_numbers),
        group(f"{block}.self_attn.kv_a_layernorm.weight", (512,), layer_numbers),
        group(f"{block}.input_layernorm.weight", (hidden,), layer_numbers),
        group(f"{block}.post_attention_layernorm.weight", (hidden,), layer_numbers),
        group("model.embed_tokens.weight", (129280, hidden)),
        group("model.norm.weight", (hidden,)),
        group("lm_head.weight", (129280, hidden)),
    ]
    for name, shape in {
        "embed_tokens": (129280, hidden),
        "shared_head.head": (129280, hidden),
        "eh_proj": (hidden, 2 * hidden),
        "enorm": (hidden,),
        "hnorm": (hidden,),
        "shared_head.norm": (hidden,),
    }.items():
        tensors.append(group(f"{block}.{name}.weight", shape, draft))
    facts = _deepseek_r1_config(hidden, layers, experts)
    if linear is not plain:
        facts["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    return snapshot(tensors, {**facts, **(config or {})})


def families() -> dict[str, Any]:
    """Builders of this module by name."""
    return {"gpt2": gpt2, "gpt_oss": gpt_oss_20b, "qwen3_next": qwen3_next, "deepseek": deepseek_r1}
