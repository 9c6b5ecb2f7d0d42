"""Bytes of a model's weights at one quantization, by how they are read and divided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpusizer.profile import ModelProfile
from gpusizer.quants.layouts import ModelShape
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
        quant: slug of the quantization.
        by_group: the total, for each of the profile's groups. Left out of JSON.
    """

    total: int
    divided: int
    in_layers: int
    embedding: int
    experts: int
    quant: str = ""
    by_group: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """JSON object of the sums; `WeightSizes(**data)` is the inverse."""
        names = ("total", "divided", "in_layers", "embedding", "experts", "quant")
        return {name: getattr(self, name) for name in names}

    @property
    def replicated(self) -> int:
        """Bytes every tensor-parallel GPU holds a copy of."""
        return self.total - self.divided


def model_shape(profile: ModelProfile) -> ModelShape:
    """What quantization recipes need to know about the model."""
    arch = profile.architecture
    if arch is None:
        return ModelShape(layers=1, heads_per_kv_head=1, experts=0, tied_embeddings=False)
    heads = (arch.attention_heads or 1) // (arch.kv_heads or 1)
    return ModelShape(arch.layers, heads, arch.experts or 0, arch.tied_embeddings)


def weight_sizes(profile: ModelProfile, quant: Quant, *, native: bool) -> WeightSizes:
    """Sizes of the weights as stored (`native`) or as the quantization's layout stores them."""
    shape = model_shape(profile)
    sizes = dict.fromkeys(("total", "divided", "in_layers", "embedding", "experts"), 0)
    by_group = []
    for group in profile.groups:
        amount = _stored(group) if native else quant.layout.group_bytes(group, shape)
        by_group.append(amount)
        sizes["total"] += amount
        if group.kind in _DIVIDED and group.part in (Part.TEXT, Part.MTP):
            sizes["divided"] += amount
        if group.layers is not None and group.part is not Part.MTP:
            sizes["in_layers"] += amount
        if group.kind is Kind.EMBEDDING and not shape.tied_embeddings:
            sizes["embedding"] += amount
        if is_expert(group.pattern):
            sizes["experts"] += amount
    return WeightSizes(**sizes, quant=quant.slug, by_group=tuple(by_group))


def _stored(group: WeightGroup) -> int:
    """Stored bytes an engine loads: not the buffers, not the second copy of a tied matrix."""
    return 0 if group.duplicate or group.kind is Kind.BUFFER else group.stored_bytes
