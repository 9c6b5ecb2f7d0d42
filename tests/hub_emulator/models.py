"""Realistic language models: config.json and tensors as transformers writes them."""

from __future__ import annotations

from typing import Any

from tests.hub_emulator.repos import FakeRepo, sharded_repo, single_file_repo

Shaped = dict[str, tuple[str, tuple[int, ...]]]


def llama_repo(
    repo_id: str = "emulated/llama",
    *,
    layers: int = 2,
    hidden: int = 64,
    intermediate: int = 128,
    heads: int = 4,
    kv_heads: int = 2,
    vocab: int = 256,
    dtype: str = "BF16",
    tied: bool = False,
    shards: int = 1,
    config: dict[str, Any] | None = None,
    **attributes: Any,
) -> FakeRepo:
    """Return a Llama; `config` adds or replaces entries of config.json."""
    tensors: Shaped = {"model.embed_tokens.weight": (dtype, (vocab, hidden))}
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        tensors |= _attention(prefix, dtype, hidden, hidden // heads, heads, kv_heads)
        tensors |= _mlp(f"{prefix}mlp.", dtype, hidden, intermediate)
    tensors["model.norm.weight"] = (dtype, (hidden,))
    if not tied:
        tensors["lm_head.weight"] = (dtype, (vocab, hidden))
    full_config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **_sizes(layers, hidden, intermediate, heads, kv_heads, vocab),
        "tie_word_embeddings": tied,
        **(config or {}),
    }
    return _repo(repo_id, tensors, shards, full_config, attributes)


def moe_repo(
    repo_id: str = "emulated/moe",
    *,
    layers: int = 2,
    hidden: int = 64,
    experts: int = 8,
    experts_per_token: int = 2,
    expert_size: int = 32,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 16,
    vocab: int = 256,
    dtype: str = "BF16",
    shards: int = 1,
    config: dict[str, Any] | None = None,
    **attributes: Any,
) -> FakeRepo:
    """Return a mixture of experts in the layout of Qwen3-MoE."""
    tensors: Shaped = {"model.embed_tokens.weight": (dtype, (vocab, hidden))}
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        tensors |= _attention(prefix, dtype, hidden, head_dim, heads, kv_heads)
        for norm in ("q_norm", "k_norm"):
            tensors[f"{prefix}self_attn.{norm}.weight"] = (dtype, (head_dim,))
        tensors[f"{prefix}mlp.gate.weight"] = (dtype, (experts, hidden))
        for expert in range(experts):
            tensors |= _mlp(f"{prefix}mlp.experts.{expert}.", dtype, hidden, expert_size)
    tensors["model.norm.weight"] = (dtype, (hidden,))
    tensors["lm_head.weight"] = (dtype, (vocab, hidden))
    full_config = {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        **_sizes(layers, hidden, 4 * hidden, heads, kv_heads, vocab),
        "head_dim": head_dim,
        "num_experts": experts,
        "num_experts_per_tok": experts_per_token,
        "moe_intermediate_size": expert_size,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "tie_word_embeddings": False,
        **(config or {}),
    }
    return _repo(repo_id, tensors, shards, full_config, attributes)


def _repo(
    repo_id: str,
    tensors: Shaped,
    shards: int,
    config: dict[str, Any],
    attributes: dict[str, Any],
) -> FakeRepo:
    if shards == 1:
        return single_file_repo(repo_id, tensors, config, **attributes)
    return sharded_repo(repo_id, tensors, shards, config, **attributes)


def _sizes(
    layers: int, hidden: int, intermediate: int, heads: int, kv_heads: int, vocab: int
) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocab,
        "max_position_embeddings": 4096,
        "torch_dtype": "bfloat16",
    }


def _attention(
    prefix: str, dtype: str, hidden: int, head_dim: int, heads: int, kv_heads: int
) -> Shaped:
    query, key = heads * head_dim, kv_heads * head_dim
    return {
        f"{prefix}input_layernorm.weight": (dtype, (hidden,)),
        f"{prefix}self_attn.q_proj.weight": (dtype, (query, hidden)),
        f"{prefix}self_attn.k_proj.weight": (dtype, (key, hidden)),
        f"{prefix}self_attn.v_proj.weight": (dtype, (key, hidden)),
        f"{prefix}self_attn.o_proj.weight": (dtype, (hidden, query)),
        f"{prefix}post_attention_layernorm.weight": (dtype, (hidden,)),
    }


def _mlp(prefix: str, dtype: str, hidden: int, size: int) -> Shaped:
    return {
        f"{prefix}gate_proj.weight": (dtype, (size, hidden)),
        f"{prefix}up_proj.weight": (dtype, (size, hidden)),
        f"{prefix}down_proj.weight": (dtype, (hidden, size)),
    }
