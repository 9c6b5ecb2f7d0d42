"""Weights as vLLM holds them on each GPU.

Five things separate that from the bytes of the files, each checked on published logs
(data/SOURCES.md, "Serving engines"):

1. Matrices are fused (query, key and value; gate and up; all experts of a layer), divided by
   tensor parallelism, and only then allocated. PyTorch rounds an allocation of 10 MiB or more up
   to 2 MiB unless that leaves more than 1 MiB, which it gives back.
2. Key and value heads are repeated where there are more ranks than heads; what belongs to no
   head, such as routers, MLA's down-projections and patch embeddings, is on every rank.
3. Draft layers are left out.
4. Tables of rotary positions, absorbed copies of MLA's up-projection and, in MXFP4, padding of
   the experts come on top.
5. A pipeline stage holds its own layers; the first the embedding and vision tower, the last the
   head.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusizer.engines.base import Split
from gpusizer.profile import ModelProfile
from gpusizer.roles import Kind, Part, Slot
from gpusizer.units import MIB
from gpusizer.weights import WeightGroup
from gpusizer.workload import Workload

Array = npt.NDArray[np.float64]

_LARGE = 10 * MIB  # PyTorch's caching allocator: from here on a segment of its own ...
_STEP = 2 * MIB  # ... of a multiple of this ...
_KEPT = 1 * MIB  # ... of which a rest above this is split off (CUDACachingAllocator.cpp)
_VOCABULARY_STEP = 64  # rows that vLLM pads embedding and head to

_FUSED = {
    Slot.Q: "qkv", Slot.K: "qkv", Slot.V: "qkv", Slot.GATE: "gate_up", Slot.UP: "gate_up",
}  # fmt: skip
_FUSED_NAMES = {
    "in_proj_qkv": "in_proj_qkvz", "in_proj_z": "in_proj_qkvz",
    "in_proj_a": "in_proj_ba", "in_proj_b": "in_proj_ba", "q_b_proj": "q_b_proj",
    "q_a_proj": "qkv_a", "kv_a_proj_with_mqa": "qkv_a",
}  # fmt: skip
_SUFFIX = re.compile(r"(\.linear)?\.(weight|qweight|weight_packed)$")
_ON_EVERY_RANK = re.compile(
    r"(q_a_proj|kv_a_proj_with_mqa|mm_input_projection_weight|patch_merger|patch_embed\w*"
    r"|\.indexer\.|pre_mm_projector|merging_layer)"
)
_STRUCTURAL = (Part.VISION, Part.AUDIO, Part.ENCODER)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model's groups become allocations, whatever their width.

    Attributes:
        groups: number of groups in the profile.
        piece: for each group, the allocation it is part of.
        tensors: for each group, how many of its allocations the whole model has.
        divisors: for each group, most ranks that it can be divided among (0: none).
        layers: for each allocation, its layer numbers; None outside the layer stack.
        ends: for each allocation outside the stack, whether the last stage holds it.
        count: for each allocation, how many of it the whole model has.
        depth: layers of the model.
    """

    groups: int
    piece: npt.NDArray[np.int64]
    tensors: Array
    divisors: npt.NDArray[np.int64]
    layers: tuple[tuple[int, ...] | None, ...]
    ends: tuple[bool, ...]
    count: Array
    depth: int

    def shares(self, ranks: int) -> Array:
        """Part of each group that one of `ranks` tensor-parallel GPUs holds."""
        return 1.0 / np.maximum(1, np.minimum(self.divisors, ranks))

    def stages(self, pipeline: int) -> Array:
        """How many of each allocation every pipeline stage holds: stages x allocations.

        Layers that do not divide evenly go to the stages before the last, from the back.
        """
        edges = stage_edges(self.depth, pipeline)
        rows = np.zeros((pipeline, len(self.layers)))
        for column, (layers, at_end) in enumerate(zip(self.layers, self.ends, strict=True)):
            if layers is None:
                rows[pipeline - 1 if at_end else 0, column] = 1
                continue
            below = [bisect_left(layers, edge) for edge in edges]
            rows[:, column] = np.diff(below) / len(layers)
        return rows


def stage_edges(layers: int, pipeline: int) -> list[int]:
    """First layer of every stage, and one past the last."""
    sizes = [layers // pipeline] * pipeline
    for extra in range(2, layers % pipeline + 2):
        sizes[-extra] += 1
    edges = [0]
    for size in sizes:
        edges.append(edges[-1] + size)
    return edges


def plan_of(profile: ModelProfile) -> Plan:
    """The allocations of a model."""
    arch = profile.architecture
    kv_heads = (arch.kv_heads if arch else None) or 2**20
    keys: dict[tuple[object, ...], int] = {}
    piece, tensors, divisors = [], [], []
    layers: list[tuple[int, ...] | None] = []
    ends: list[bool] = []
    for index, group in enumerate(profile.groups):
        key = _piece_key(group, index)
        if key not in keys:
            keys[key] = len(keys)
            in_stack = group.layers if arch and group.part is Part.TEXT else None
            layers.append(tuple(in_stack) if in_stack else None)
            ends.append(_is_at_the_end(group))
        piece.append(keys[key])
        whole_layer = group.kind is Kind.EXPERT and group.layers
        tensors.append(len(group.layers or ()) if whole_layer else group.count)
        divisors.append(_divisor(group, kv_heads))
    count: Array = np.zeros(len(layers))
    np.maximum.at(count, np.array(piece, dtype=np.int64), np.array(tensors, dtype=np.float64))
    return Plan(
        groups=len(profile.groups),
        piece=np.array(piece),
        tensors=np.array(tensors, dtype=np.float64),
        divisors=np.array(divisors),
        layers=tuple(layers),
        ends=tuple(ends),
        count=count,
        depth=arch.layers if arch else 1,
    )


def _piece_key(group: WeightGroup, index: int) -> tuple[object, ...]:
    """Groups with one key are allocated as one tensor per layer."""
    if group.kind in (Kind.LINEAR, Kind.EXPERT):
        parent, _, name = _SUFFIX.sub("", group.pattern).rpartition(".")
        fused = _FUSED_NAMES.get(name) or _FUSED.get(group.slot)
        if fused is not None:
            return (parent, fused, group.layers)
    return (index,)


def _is_at_the_end(group: WeightGroup) -> bool:
    if group.part is Part.MTP or group.kind is Kind.OUTPUT:
        return True
    return group.kind is Kind.NORM and group.layers is None


def _divisor(group: WeightGroup, kv_heads: int) -> int:
    """Most ranks a group is divided among; 0 for one that every rank holds whole."""
    everything = 2**20
    if group.kind in (Kind.EMBEDDING, Kind.OUTPUT, Kind.EXPERT):
        return everything if group.part is Part.TEXT else 0
    if group.kind is Kind.CONV:
        return everything if group.part is Part.TEXT and group.layers else 0
    if group.kind not in (Kind.LINEAR, Kind.QUANT_AUX) or _ON_EVERY_RANK.search(group.pattern):
        return 0
    if group.part in _STRUCTURAL and group.layers is None:
        return 0
    return kv_heads if group.slot in (Slot.K, Slot.V) and group.part is Part.TEXT else everything


def kept_groups(profile: ModelProfile, workload: Workload) -> Array:
    """1 for every group that is loaded, 0 for parts that the workload leaves out.

    Draft layers share the decoder's embedding and head, whatever their files repeat.
    """
    return np.array([float(_is_loaded(group, workload)) for group in profile.groups])


def _is_loaded(group: WeightGroup, workload: Workload) -> bool:
    if group.part is Part.MTP:
        return bool(workload.draft_tokens) and group.kind not in (Kind.EMBEDDING, Kind.OUTPUT)
    return group.part in (Part.TEXT, Part.ENCODER) or not workload.text_only


def rounded(sizes: Array) -> Array:
    """Bytes that PyTorch counts for allocations of these sizes."""
    waste = -sizes % _STEP
    return np.asarray(np.where((sizes >= _LARGE) & (waste <= _KEPT), sizes + waste, sizes))


def held(plan: Plan, by_group: Array, split: Split, stages: Array) -> Array:
    """Bytes of weights on one GPU of every pipeline stage; `stages` are the plan's."""
    per_tensor = by_group / np.maximum(plan.tensors, 1) * plan.shares(split.tensor)
    whole = np.asarray(np.bincount(plan.piece, per_tensor, len(plan.layers)), dtype=np.float64)
    return np.asarray(np.matmul(stages, rounded(whole) * plan.count), dtype=np.float64)


def vocabulary_growth(profile: ModelProfile) -> Array:
    """By what each group grows: rows of embedding and head are padded to a multiple of 64."""
    growth = np.ones(len(profile.groups))
    for index, group in enumerate(profile.groups):
        if (
            group.part is Part.TEXT
            and group.kind in (Kind.EMBEDDING, Kind.OUTPUT)
            and len(group.shape) == 2
            and group.shape[0]
        ):
            rows = group.shape[0]
            growth[index] = -(-rows // _VOCABULARY_STEP) * _VOCABULARY_STEP / rows
    return growth
