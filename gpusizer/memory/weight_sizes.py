"""Bytes of a model's weights at one quantization, by how engines read and divide them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gpusizer.core.loose_values import Arguments
from gpusizer.memory.model_shape import ANY_FILE, model_shape
from gpusizer.memory.quants.dynamic import sized_as_published
from gpusizer.memory.quants.gguf import Gguf
from gpusizer.memory.quants.layouts import Layout, ModelShape
from gpusizer.memory.quants.table import Quant, as_published
from gpusizer.memory.quants.variants import is_variant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, is_expert, is_layer_table
from gpusizer.model.weights import WeightGroup

_DIVIDED = (Kind.LINEAR, Kind.EXPERT, Kind.EMBEDDING, Kind.OUTPUT, Kind.QUANT_AUX)
# Fields of sizes that are parts of the total.
_SHARES = ("divided", "in_layers", "embedding", "experts", "decoding", "decoding_experts")


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes in memory once loaded."""

    total: int
    divided: int  # matrices that tensor parallelism splits; the rest is on every GPU
    in_layers: int  # part of the total inside the layer stack
    embedding: int  # input embedding; a token reads one row of it
    experts: int  # routed experts; a token reads a few of them
    # Bytes that every step of decoding text reads beyond routed experts: the decoder, not towers,
    # projectors, encoders, draft layers, adapters or tables of embeddings.
    decoding: int = 0
    # Routed experts of the decoder itself, without those of draft layers.
    decoding_experts: int = 0
    quant: str = ""  # slug of the quantization
    # Whether native sizes come from the headers of files, not from the size of a file.
    read: bool = True
    # The total, for each of the profile's groups. Left out of JSON.
    by_group: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @property
    def replicated(self) -> int:
        """Bytes that every tensor-parallel GPU holds a copy of."""
        return self.total - self.divided


def all_weight_sizes(
    profile: ModelProfile, quants: Iterable[tuple[Quant, bool]], workload: Workload = ANY_FILE
) -> dict[str, WeightSizes]:
    """Return sizes by slug; `quants` pairs each with whether the repository stores it."""
    # Files of one layout share the work: a repository may list hundreds.
    by_layout: dict[Layout, WeightSizes] = {}
    sizes: dict[str, WeightSizes] = {}
    owner = profile.repo_id.partition("/")[0]
    for quant, native in quants:
        # A file of the repository other than the one that was read.
        unread = is_variant(quant) and quant.slug != (profile.variant or quant.slug).lower()
        if native and unread:
            published = as_published(quant, owner)
            if published.layout not in by_layout:
                by_layout[published.layout] = weight_sizes(
                    profile, published, native=False, workload=workload
                )
            sizes[quant.slug] = _of_unread_file(profile, quant, by_layout[published.layout])
        else:
            sizes[quant.slug] = weight_sizes(profile, quant, native=native, workload=workload)
    return sizes


def weight_sizes(
    profile: ModelProfile,
    quant: Quant,
    *,
    native: bool,
    workload: Workload = ANY_FILE,
) -> WeightSizes:
    """Return sizes of the weights as read (`native`) or as the quantization's layout stores them.

    `workload` says how a GGUF file was made.
    """
    return _weight_sizes(profile, quant, native, model_shape(profile, workload))


# Remembered for the next question about a model; the list of embedded ones asks for 3,000.
@lru_cache(maxsize=4096)
def _weight_sizes(
    profile: ModelProfile, quant: Quant, native: bool, shape: ModelShape
) -> WeightSizes:
    sizes: Arguments = dict.fromkeys(("total", *_SHARES), 0)
    by_group = []
    layout = quant.layout
    if isinstance(layout, Gguf) and not native:
        layout = sized_as_published(layout, quant.slug, profile, shape)
    for group in profile.groups:
        amount = _stored(group) if native else layout.group_bytes(group, shape)
        by_group.append(amount)
        sizes["total"] += amount
        if group.kind in _DIVIDED and group.part in (Part.TEXT, Part.MTP):
            sizes["divided"] += amount
        if group.layers is not None and group.part is not Part.MTP:
            sizes["in_layers"] += amount
        if group.kind is Kind.EMBEDDING and not shape.tied_embeddings:
            sizes["embedding"] += amount
        routed = is_expert(group.pattern)
        if routed:
            sizes["experts"] += amount
        if group.part is Part.TEXT and not _is_looked_up(group, tied=shape.tied_embeddings):
            sizes["decoding_experts" if routed else "decoding"] += amount
    return WeightSizes(**sizes, quant=quant.slug, by_group=tuple(by_group))


def _is_looked_up(group: WeightGroup, *, tied: bool) -> bool:
    # A token reads rows alone of an embedding that is not the head too, and of the table with rows
    # for each layer, which llama.cpp leaves in system memory (PR 14400).
    return group.kind is Kind.EMBEDDING and (not tied or is_layer_table(group.pattern))


def _of_unread_file(profile: ModelProfile, quant: Quant, similar: WeightSizes) -> WeightSizes:
    """Return sizes of a quantization if only its file size is known."""
    # The headers of one model's quantizations hold the same tokenizer, so the header that was read
    # tells how much of this file is not tensors: right to a few kilobytes. The total is divided as
    # in the layout of that name.
    sizes = {variant.slug: variant.size_bytes for variant in profile.variants}
    read_bytes = sizes.get((profile.variant or "").lower()) or profile.weight_bytes
    header_bytes = max(read_bytes - profile.weight_bytes, 0)
    total = max((sizes[quant.slug] or 0) - header_bytes, 0)
    scaled = {name: getattr(similar, name) * total // max(similar.total, 1) for name in _SHARES}
    by_group = tuple(amount * total // max(similar.total, 1) for amount in similar.by_group)
    return replace(similar, total=total, quant=quant.slug, read=False, by_group=by_group, **scaled)


def _stored(group: WeightGroup) -> int:
    """Return stored bytes an engine loads: no buffers, no second copy of a tied matrix."""
    return 0 if group.duplicate or group.kind is Kind.BUFFER else group.stored_bytes
