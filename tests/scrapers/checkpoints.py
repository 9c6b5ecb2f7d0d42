"""Tensors and indexes of small checkpoints."""

from __future__ import annotations

from gpusizer.hub.snapshot import RepoSnapshot

TOKEN = "hf_reader"
TENSORS = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(6)}  # 6 x 8 x 16 x 2 B
INDEX = "model.safetensors.index.json"


def stored_bytes(snapshot: RepoSnapshot) -> int:
    """Tensor bytes of all components."""
    return sum(group.stored_bytes for part in snapshot.components for group in part.tensors)
