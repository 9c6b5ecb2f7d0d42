"""Builders of GGUF repositories' snapshots, like those that the scrapers make from the Hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from gpusizer.core.dtypes import stored_bytes
from gpusizer.hub.snapshot import Component, RepoSnapshot, Variant, WeightFile
from gpusizer.hub.tensors import group_tensors
from gpusizer.model.profile import ModelProfile, build_profile
from tests.builders import snapshot
from tests.hub_emulator.gguf_files import Tensors
from tests.hub_emulator.gguf_models import llama_metadata, llama_tensors

HEADER_BYTES = 5_947_648

SIZES_8B: dict[str, int] = {
    "layers": 32,
    "hidden": 4096,
    "ffn": 14336,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
}


def tensor_bytes(tensors: Tensors) -> int:
    """Bytes of these tensors in a file."""
    return sum(stored_bytes(dtype, prod(shape)) for dtype, shape in tensors.values())


def gguf_snapshot(
    metadata: Mapping[str, Any],
    tensors: Tensors,
    others: Sequence[Variant] = (),
    name: str = "Q4_K_M",
    **fields: Any,
) -> RepoSnapshot:
    """Build a repository whose file `name` was read, with `others` as further variants."""
    raw = [(tensor, dtype, shape) for tensor, (dtype, shape) in tensors.items()]
    path, size = f"model-{name}.gguf", tensor_bytes(tensors) + HEADER_BYTES
    vocab = next((shape[0] for tensor, (_, shape) in tensors.items() if "token_embd" in tensor), 0)
    config = {"tokenizer.ggml.tokens.length": vocab, **metadata}
    component = Component("model", config, (WeightFile(path, size, len(raw)),), group_tensors(raw))
    variant = Variant(name, "quantization", (WeightFile(path, size, 0),), size)
    facts = {"format": "gguf", "components": (component,), "variants": (*others, variant)}
    return snapshot([], {}, **{**facts, **fields})


def file_variant(name: str, size: int, kind: Any = "quantization") -> Variant:
    """Return a file of that name and size."""
    return Variant(name, kind, (WeightFile(f"model-{name}.gguf", size, 0),), size)


def llama_gguf(kind: str = "Q4_K", others: Sequence[Variant] = (), **sizes: Any) -> RepoSnapshot:
    """Return a Llama with all its matrices in one type."""
    shape = {key: value for key, value in sizes.items() if key not in ("vocab", "tied")}
    return gguf_snapshot(llama_metadata(**shape), llama_tensors(kind, **sizes), others)


def gguf_profile(metadata: Mapping[str, Any], tensors: Tensors, **fields: Any) -> ModelProfile:
    """Profile of `gguf_snapshot(…)`."""
    return build_profile(gguf_snapshot(metadata, tensors, **fields))
