"""Weights as vLLM holds them on each GPU.

Six things separate that from the bytes of the files, each checked on published logs
(data/SOURCES.md, "Serving engines"):

1. Matrices are fused (query, key and value; gate and up; all experts of a layer), divided by
   tensor parallelism, and only then allocated. PyTorch rounds an allocation of 10 MiB or more up
   to 2 MiB unless that leaves more than 1 MiB, which it gives back.
2. Key and value heads are repeated where there are more ranks than heads; tensors of no
   head, such as routers, MLA's down-projections and patch embeddings, are on every rank.
3. Draft layers are left out unless they are asked for. Then they are divided like the decoder's
   (models/deepseek_mtp.py builds a `DeepseekV2DecoderLayer`), but for the projection of two
   hidden states to one, which is on every rank.
4. Tables of rotary positions, absorbed copies of MLA's up-projection and, in MXFP4, padding of
   the experts come on top.
5. With expert parallelism routed experts are not divided but dealt out whole: every rank gets
   as many as the fullest, experts / ranks rounded up (`determine_expert_map` of
   vllm/model_executor/layers/fused_moe); the rest is divided by tensor parallelism alone.
6. A pipeline stage holds its own layers; the first the embedding and vision tower, the last the
   head.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from operator import mul

from gpusizer.core.units import MIB
from gpusizer.memory.engines.base import Split
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot, is_expert
from gpusizer.model.weights import WeightGroup

# A number for each group of a profile, or for each allocation of a plan.
GroupNumbers = tuple[float, ...]

_LARGE = 10 * MIB  # PyTorch's caching allocator: from here on a segment of its own ...
_STEP = 2 * MIB  # ... of a multiple of this ...
_KEPT = 1 * MIB  # ... whose rest above this is split off (CUDACachingAllocator.cpp)
_FP32_BYTES = 4.0
_VOCABULARY_STEP = 64  # rows that vLLM pads embedding and head to

_FUSED = {
    Slot.Q: "qkv",
    Slot.K: "qkv",
    Slot.V: "qkv",
    Slot.GATE: "gate_up",
    Slot.UP: "gate_up",
}
# Names of matrices -> the fused one that vLLM loads them into.
_FUSED_NAMES = {
    "in_proj_qkv": "in_proj_qkvz",
    "in_proj_z": "in_proj_qkvz",
    "in_proj_a": "in_proj_ba",
    "in_proj_b": "in_proj_ba",
    "q_b_proj": "q_b_proj",
    "q_a_proj": "qkv_a",
    "kv_a_proj_with_mqa": "qkv_a",
}
_SUFFIX = re.compile(r"(\.linear)?\.(weight|qweight|weight_packed)$")
_ON_EVERY_RANK = re.compile(
    r"(q_a_proj|kv_a_proj_with_mqa|mm_input_projection_weight|patch_merger|patch_embed\w*"
    r"|\.indexer\.|\.compressor\.|\.attn\.(wq_a|wkv)\.|pre_mm_projector|merging_layer"
    r"|eh_proj|\b[eh]_proj)"
)
_STRUCTURAL = (Part.VISION, Part.AUDIO, Part.ENCODER)
_DECODER = (Part.TEXT, Part.MTP)  # draft layers are layers of the decoder's kind


@dataclass(frozen=True, slots=True)
class ShardingPlan:
    """Allocations of a model's groups, at any width."""

    groups: int  # number of groups in the profile
    piece: tuple[int, ...]  # for each group, the allocation it is part of
    tensors: tuple[int, ...]  # for each group, the number of its allocations in the whole model
    divisors: tuple[int, ...]  # for each group, most ranks that it can be divided among (0: none)
    experts: tuple[int, ...]  # for each group, the number of routed experts it holds, else 0
    # For each allocation, its layer numbers; None outside the layer stack.
    layers: tuple[tuple[int, ...] | None, ...]
    # For each allocation outside the stack, whether the last stage holds it.
    ends: tuple[bool, ...]
    count: tuple[int, ...]  # for each allocation, its number in the whole model
    depth: int  # layers of the model

    def shares(self, split: Split) -> GroupNumbers:
        """Return the part of one tensor of each group that one GPU of a stage holds."""
        return tuple(
            -(-experts // split.expert) / experts
            if experts and split.expert > 1
            else 1 / max(1, min(most, split.tensor))
            for most, experts in zip(self.divisors, self.experts, strict=True)
        )

    def stages(self, pipeline: int) -> tuple[GroupNumbers, ...]:
        """Return the number of each allocation on every pipeline stage."""
        edges = stage_edges(self.depth, pipeline)
        columns = [
            _by_stage(layers, at_end, edges)
            for layers, at_end in zip(self.layers, self.ends, strict=True)
        ]
        share = [
            [part * count for part in column]
            for column, count in zip(columns, self.count, strict=True)
        ]
        return tuple(zip(*share, strict=True))


def _by_stage(layers: tuple[int, ...] | None, at_end: bool, edges: list[int]) -> list[float]:
    """Return the share of an allocation's tensors that each pipeline stage holds."""
    if layers is None:
        counts = [0.0] * (len(edges) - 1)
        counts[-1 if at_end else 0] = 1.0
        return counts
    below = [bisect_left(layers, edge) for edge in edges]
    return [(stop - start) / len(layers) for start, stop in pairwise(below)]


def stage_edges(layers: int, pipeline: int) -> list[int]:
    """Return the first layer of every stage, and one past the last."""
    sizes = [layers // pipeline] * pipeline
    # Layers that do not divide evenly go to the stages before the last, from the back.
    for extra in range(2, layers % pipeline + 2):
        sizes[-extra] += 1
    edges = [0]
    for size in sizes:
        edges.append(edges[-1] + size)
    return edges


@lru_cache(maxsize=32)
def plan_of(profile: ModelProfile) -> ShardingPlan:
    """Return the allocations of a model, for any workload."""
    groups, arch = profile.groups, profile.architecture
    kv_heads = (arch.kv_heads if arch else None) or 2**20
    keys: dict[tuple[object, ...], int] = {}
    piece, tensors, divisors = [], [], []
    count: list[int] = []
    layers: list[tuple[int, ...] | None] = []
    ends: list[bool] = []
    for index, group in enumerate(groups):
        key = _piece_key(group, index)
        if key not in keys:
            keys[key] = len(keys)
            in_stack = group.layers if arch and group.part is Part.TEXT else None
            layers.append(tuple(in_stack) if in_stack else None)
            ends.append(_is_at_the_end(group))
            count.append(0)
        piece.append(keys[key])
        whole_layer = group.kind is Kind.EXPERT and group.layers
        tensors.append(len(group.layers or ()) if whole_layer else group.count)
        count[piece[-1]] = max(count[piece[-1]], tensors[-1])
        divisors.append(_divisor(group, kv_heads))
    return ShardingPlan(
        groups=len(groups),
        piece=tuple(piece),
        tensors=tuple(tensors),
        divisors=tuple(divisors),
        experts=_experts(groups, arch),
        layers=tuple(layers),
        ends=tuple(ends),
        count=tuple(count),
        depth=arch.layers if arch else 1,
    )


def _experts(groups: Sequence[WeightGroup], arch: Architecture | None) -> tuple[int, ...]:
    experts = (arch.experts if arch else None) or 0
    return tuple(
        experts if group.part in _DECODER and is_expert(group.pattern) else 0 for group in groups
    )


def _piece_key(group: WeightGroup, index: int) -> tuple[object, ...]:
    # Groups with one key are allocated as one tensor per layer.
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
    """Return the most ranks a group is divided among; 0 if every rank holds it whole."""
    everything = 2**20
    if group.kind in (Kind.EMBEDDING, Kind.OUTPUT, Kind.EXPERT):
        return everything if group.part in _DECODER else 0
    if group.kind is Kind.CONV:
        return everything if group.part is Part.TEXT and group.layers else 0
    if group.kind not in (Kind.LINEAR, Kind.QUANT_AUX) or _ON_EVERY_RANK.search(group.pattern):
        return 0
    if group.part in _STRUCTURAL and group.layers is None:
        return 0
    return kv_heads if group.slot in (Slot.K, Slot.V) and group.part in _DECODER else everything


def kept_groups(profile: ModelProfile, workload: Workload) -> tuple[bool, ...]:
    """Return whether each group is loaded under the workload."""
    return tuple(_is_loaded(group, workload) for group in profile.groups)


def _is_loaded(group: WeightGroup, workload: Workload) -> bool:
    if group.part is Part.MTP:
        # Draft layers share the decoder's embedding and head, even if their files repeat them.
        return bool(workload.own_draft_tokens) and group.kind not in (Kind.EMBEDDING, Kind.OUTPUT)
    return group.part in (Part.TEXT, Part.ENCODER) or not workload.text_only


def rounded(size: float) -> float:
    """Return bytes that PyTorch counts for an allocation of this size."""
    waste = -size % _STEP
    return size + waste if size >= _LARGE and waste <= _KEPT else size


def held(
    plan: ShardingPlan, by_group: Sequence[float], split: Split, stages: Sequence[GroupNumbers]
) -> GroupNumbers:
    """Return bytes of weights on one GPU of every pipeline stage; `stages` are the plan's."""
    bytes_by_piece = [0.0] * len(plan.layers)
    shares = plan.shares(split)
    for piece, size, tensors, share in zip(plan.piece, by_group, plan.tensors, shares, strict=True):
        bytes_by_piece[piece] += size / max(tensors, 1) * share
    allocated = [rounded(size) for size in bytes_by_piece]
    return tuple(sum(map(mul, allocated, stage)) for stage in stages)


def vocabulary_growth(profile: ModelProfile) -> GroupNumbers:
    """Return growth factors: rows of embedding and head are padded to a multiple of 64."""
    return tuple(map(_growth, profile.groups))


def scale_growth(profile: ModelProfile) -> GroupNumbers:
    """Return growth factors for routed experts' one-byte scales held in FP32."""
    # SGLang creates them so (`Fp8MoEMethod.create_weights`, `DeepSeekMxfp4MoEMethod.create_weights`
    # of srt/layers/quantization). Some kernels have them converted once every layer is loaded,
    # others never (sgl-project/sglang pull request 36847; SemiAnalysisAI/InferenceX issue 2128).
    return tuple(
        _FP32_BYTES if group.dtype == "F8_E8M0" and is_expert_scale(group) else 1.0
        for group in profile.groups
    )


def is_expert_scale(group: WeightGroup) -> bool:
    """Return whether a group holds quantization data beside matrices of routed experts."""
    return group.kind is Kind.QUANT_AUX and ".experts." in group.pattern


def _growth(group: WeightGroup) -> float:
    is_vocabulary = group.part is Part.TEXT and group.kind in (Kind.EMBEDDING, Kind.OUTPUT)
    if not is_vocabulary or len(group.shape) != 2 or not group.shape[0]:
        return 1.0
    rows = group.shape[0]
    return -(-rows // _VOCABULARY_STEP) * _VOCABULARY_STEP / rows
