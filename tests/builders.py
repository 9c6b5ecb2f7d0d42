"""Repositories in memory: RepoSnapshots with the tensors of real model families.

Every builder takes overrides for its sizes, so that a test names only the sizes it checks. The
defaults are the published dimensions. Tensors are built in groups, so that a model of 92,000
tensors takes little time.
`linear=` chooses how matrices are stored (see `tests.packed_layouts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpusizer.hub.snapshot import Component, RepoSnapshot, WeightFile
from gpusizer.hub.tensors import TensorGroup
from gpusizer.memory.quants import ModelShape, find_quant
from gpusizer.model.profile import ModelProfile, build_profile

Config = dict[str, Any]
Linear = Callable[[str, int, int, tuple[Sequence[int], ...]], list[TensorGroup]]  #


def group(
    pattern: str, shape: Sequence[int], *indices: Iterable[int], dtype: str = "BF16"
) -> TensorGroup:
    """Build a TensorGroup; `indices` give the numbers of each placeholder."""
    return TensorGroup(pattern, dtype, tuple(shape), tuple(tuple(i) for i in indices))


def plain(
    name: str, rows: int, columns: int, indices: tuple[Sequence[int], ...]
) -> list[TensorGroup]:
    """Return an ordinary BF16 matrix."""
    return [group(f"{name}.weight", (rows, columns), *indices)]


def snapshot(
    tensors: Iterable[TensorGroup], config: Config | None = None, **fields: Any
) -> RepoSnapshot:
    """Return a one-component repository with one weight file."""
    groups = tuple(tensors)
    files = (WeightFile("model.safetensors", None, sum(g.count for g in groups)),)
    facts: dict[str, Any] = {
        "repo_id": "org/model",
        "revision": "main",
        "sha": "0" * 40,
        "source": "hub",
        "retrieved_at": "2026-01-02T03:04:05+00:00",
        "format": "safetensors",
        "components": (Component("model", config, files, groups),),
    }
    return RepoSnapshot(**{**facts, **fields})


def with_tensors(base: RepoSnapshot, tensors: Iterable[TensorGroup]) -> RepoSnapshot:
    """Return `base` with other tensors and the same configuration."""
    return snapshot(tensors, dict(base.components[0].config or {}))


def without_keys(config: Mapping[str, Any] | None, *keys: str) -> Config:
    """Copy a configuration without some keys."""
    return {key: value for key, value in (config or {}).items() if key not in keys}


def model_shape(profile: ModelProfile) -> ModelShape:
    """Return the facts of a profile that quantization recipes depend on."""
    arch = profile.architecture
    assert arch is not None
    heads, kv_heads = arch.attention_heads or 1, arch.kv_heads or 1
    return ModelShape(arch.layers, heads // kv_heads, arch.experts or 0, arch.tied_embeddings)


def quantized_bytes(slug: str, profile: ModelProfile) -> int:
    """Bytes of all weights of a model in one quantization."""
    layout, shape = find_quant(slug).layout, model_shape(profile)
    return sum(layout.group_bytes(g, shape) for g in profile.groups)


def profile_of(*args: Any, **fields: Any) -> ModelProfile:
    """Profile of `snapshot(*args, **fields)`."""
    return build_profile(snapshot(*args, **fields))


# Llama and models of the same structure.


def llama(
    *,
    layers: int = 32,
    hidden: int = 4096,
    heads: int = 32,
    kv_heads: int = 8,
    head_dim: int = 128,
    ffn: int = 14336,
    vocab: int = 128256,
    context: int = 131072,
    model_type: str = "llama",
    tied: bool = False,
    head: bool = True,
    qkv_bias: bool = False,
    qk_norm: bool = False,
    linear: Linear = plain,
    config: Config | None = None,
) -> RepoSnapshot:
    """Return a pre-norm decoder with a gated feed-forward; the defaults are Llama-3.1-8B."""
    layer_numbers = range(layers)
    attention = "model.layers.{}.self_attn"
    tensors = [group("model.embed_tokens.weight", (vocab, hidden))]
    head_counts = {"q_proj": heads, "k_proj": kv_heads, "v_proj": kv_heads}
    for name, count in head_counts.items():
        rows = count * head_dim
        tensors += linear(f"{attention}.{name}", rows, hidden, (layer_numbers,))
        if qkv_bias:
            tensors.append(group(f"{attention}.{name}.bias", (rows,), layer_numbers))
    tensors += linear(f"{attention}.o_proj", hidden, heads * head_dim, (layer_numbers,))
    if qk_norm:
        tensors += [group(f"{attention}.{n}_norm.weight", (head_dim,), layer_numbers) for n in "qk"]
    for name in ("gate_proj", "up_proj"):
        tensors += linear(f"model.layers.{{}}.mlp.{name}", ffn, hidden, (layer_numbers,))
    tensors += linear("model.layers.{}.mlp.down_proj", hidden, ffn, (layer_numbers,))
    norms = ("input_layernorm", "post_attention_layernorm")
    tensors += [group(f"model.layers.{{}}.{n}.weight", (hidden,), layer_numbers) for n in norms]
    tensors.append(group("model.norm.weight", (hidden,)))
    if head:
        tensors.append(group("lm_head.weight", (vocab, hidden)))
    facts: Config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": model_type,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "intermediate_size": ffn,
        "vocab_size": vocab,
        "max_position_embeddings": context,
        "tie_word_embeddings": tied,
    }
    return snapshot(tensors, {**facts, **(config or {})})


def tiny(**overrides: Any) -> RepoSnapshot:
    """Llama with four small layers, for tests with numbers that are easy to compute."""
    sizes = {
        "layers": 4,
        "hidden": 256,
        "heads": 4,
        "kv_heads": 2,
        "head_dim": 64,
        "ffn": 512,
        "vocab": 1024,
        "context": 4096,
    }
    return llama(**{**sizes, **overrides})


def llama_70b(**overrides: Any) -> RepoSnapshot:
    """Llama-3.3-70B."""
    sizes = {"layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672}
    return llama(**{**sizes, **overrides})


def qwen2_14b(**overrides: Any) -> RepoSnapshot:
    """DeepSeek-R1-Distill-Qwen-14B."""
    sizes = {
        "layers": 48,
        "hidden": 5120,
        "heads": 40,
        "ffn": 13824,
        "vocab": 152064,
        "model_type": "qwen2",
        "qkv_bias": True,
    }
    return llama(**{**sizes, **overrides})


def qwen3_06b(**overrides: Any) -> RepoSnapshot:
    """Qwen3-0.6B: tied embeddings, and the tied matrix stored a second time as lm_head."""
    sizes = {
        "layers": 28,
        "hidden": 1024,
        "heads": 16,
        "ffn": 3072,
        "vocab": 151936,
        "context": 40960,
        "model_type": "qwen3",
        "qk_norm": True,
        "tied": True,
    }
    return llama(**{**sizes, **overrides})
