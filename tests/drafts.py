"""Heads that guess tokens, as publishers store them: snapshots for tests."""

from __future__ import annotations

from typing import Any

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from tests.builders import group, snapshot
from tests.sizers import embedded_sizer

EAGLE3 = "AngelSlim/Qwen3-8B_eagle3"
_HIDDEN, _INNER, _VOCABULARY, _DRAFT_VOCABULARY = 4096, 12_288, 151_936, 32_000
_LAYER = {
    "self_attn.q_proj": (4096, 2 * _HIDDEN),
    "self_attn.k_proj": (1024, 2 * _HIDDEN),
    "self_attn.v_proj": (1024, 2 * _HIDDEN),
    "self_attn.o_proj": (_HIDDEN, 4096),
    "mlp.gate_proj": (_INNER, _HIDDEN),
    "mlp.up_proj": (_INNER, _HIDDEN),
    "mlp.down_proj": (_HIDDEN, _INNER),
}


def eagle3(*, embedding: bool = False, **config: Any) -> RepoSnapshot:
    """Return the EAGLE-3 head of Qwen3-8B: one layer, and a head for 32,000 tokens.

    With `embedding` it has one of its own.
    """
    facts = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": _HIDDEN,
        "num_hidden_layers": 1,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": _INNER,
        "vocab_size": _VOCABULARY,
        "draft_vocab_size": _DRAFT_VOCABULARY,
        "max_position_embeddings": 40_960,
        "tie_word_embeddings": False,
    }
    tensors = [
        group("fc.weight", (_HIDDEN, 3 * _HIDDEN)),
        group("lm_head.weight", (_DRAFT_VOCABULARY, _HIDDEN)),
        *(group(f"midlayer.{name}.weight", shape) for name, shape in _LAYER.items()),
    ]
    if embedding:
        tensors.append(group("embed_tokens.weight", (_VOCABULARY, _HIDDEN)))
    return snapshot(tensors, {**facts, **config}, repo_id=EAGLE3)


def fetching(*drafts: RepoSnapshot) -> Any:
    """Return a Sizer that reads these repositories and the embedded models."""
    sizer = embedded_sizer()
    known = {draft.repo_id: draft for draft in drafts}

    def fetch(ref: ModelRef) -> RepoSnapshot:
        return known[ref.repo_id] if ref.repo_id in known else sizer.fetch(ref)

    return sizer.reading(fetch)
