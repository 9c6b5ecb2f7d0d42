"""Facts of a GGUF repository's file list and of the file that was read."""

from __future__ import annotations

import re

from gpusizer.core.dtypes import DTYPE_BITS, nominal_bits
from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import RepoSnapshot, Variant
from gpusizer.model.packing import StoredQuantization

# Projectors people and tools prefer when there are several.
_PROJECTOR_ORDER = ("F16", "BF16")
_NAMED_PIECES = 6  # quantizations that a note names


def ggml_quantization(dtype: str) -> StoredQuantization | None:
    """Return the quantization of a file with mostly `dtype` weights, or None for plain floats."""
    return None if dtype in DTYPE_BITS else StoredQuantization("gguf", nominal_bits(dtype))


def variant_read(snapshot: RepoSnapshot) -> Variant | None:
    """Return the variant whose tensors the snapshot holds, or None."""
    paths = [file.path for file in snapshot.components[0].files]
    same = (v for v in snapshot.variants if [file.path for file in v.files] == paths)
    return next(same, None)


def projector(snapshot: RepoSnapshot) -> Variant | None:
    """Return the projector to load with the model: 16-bit if there is one, else the smallest."""
    projectors = [variant for variant in snapshot.variants if variant.kind == "projector"]
    for name in _PROJECTOR_ORDER:
        for variant in projectors:
            if re.split(r"[-._/]", variant.name)[-1].upper() == name:
                return variant
    return min(projectors, key=lambda variant: variant.size_bytes or 2**62, default=None)


def gguf_notes(snapshot: RepoSnapshot) -> list[Note]:
    """Return notes on the file that was read, pieces to join and the projector for images."""
    notes = []
    models = sum(variant.kind == "quantization" for variant in snapshot.variants)
    path = snapshot.components[0].files[0].path
    if models > 1:
        notes.append(Note("gguf_variant_read", file=path, count=models))
    pieces = [v.name for v in snapshot.variants if v.raw_pieces and v.kind == "quantization"]
    if pieces:
        more = ["…"] if len(pieces) > _NAMED_PIECES else []
        notes.append(Note("gguf_raw_pieces", names=", ".join(pieces[:_NAMED_PIECES] + more)))
    projector_file = projector(snapshot)
    if projector_file is not None and projector_file.files[0].path != path:
        size = projector_file.size_bytes or 0
        notes.append(
            Note("projector_not_counted", file=projector_file.files[0].path, projector_bytes=size)
        )
    return notes
