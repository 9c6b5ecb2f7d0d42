"""Bytes of a model's weights at one quantization, by how they are read and divided."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.model_shape import model_shape
from gpusizer.profile import ModelProfile
from gpusizer.quants.table import Quant
from gpusizer.roles import Kind, Part, is_expert
from gpusizer.weights import WeightGroup

_DIVIDED = (Kind.LINEAR, Kind.EXPERT, Kind.EMBEDDING, Kind.OUTPUT, Kind.QUANT_AUX)


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes in memory once loaded.

    Attributes:
        total: all of it.
        divided: matrices that tensor parallelism splits; the rest is on every GPU.
        in_layers: part of the total inside the layer stack.
        embedding: input embedding, of which a token reads one row.
        experts: routed experts, of which a token reads a few.
    """

    total: int
    divided: int
    in_layers: int
    embedding: int
    experts: int

    @property
    def replicated(self) -> int:
        """Bytes every tensor-parallel GPU holds a copy of."""
        return self.total - self.divided


def weight_sizes(profile: ModelProfile, quant: Quant, *, native: bool) -> WeightSizes:
    """Sizes of the weights as stored (`native`) or as the quantization's layout stores them."""
    shape = model_shape(profile)
    sizes = dict.fromkeys(("total", "divided", "in_layers", "embedding", "experts"), 0)
    for group in profile.groups:
        amount = _stored(group) if native else quant.layout.group_bytes(group, shape)
        sizes["total"] += amount
        if group.kind in _DIVIDED and group.part in (Part.TEXT, Part.MTP):
            sizes["divided"] += amount
        if group.layers is not None and group.part is not Part.MTP:
            sizes["in_layers"] += amount
        if group.kind is Kind.EMBEDDING and not shape.tied_embeddings:
            sizes["embedding"] += amount
        if is_expert(group.pattern):
            sizes["experts"] += amount
    return WeightSizes(**sizes)


def _stored(group: WeightGroup) -> int:
    """Stored bytes an engine loads: not the buffers, not the second copy of a tied matrix."""
    return 0 if group.duplicate or group.kind is Kind.BUFFER else group.stored_bytes
