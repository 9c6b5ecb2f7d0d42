"""WeightGroup: a group of stored tensors with its purpose and the parameters it holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpusizer.hub.tensors import Indices, TensorGroup
from gpusizer.model.packing import WEIGHT_SUFFIXES, StoredQuantization, is_quant_aux
from gpusizer.model.tensor_roles import (
    Kind,
    Part,
    Slot,
    kind_of,
    layer_axis,
    part_of,
    slot_of,
    stack_of,
)
from gpusizer.model.unpacking import Neighbours, Unproven, unpacked_shape

_SIDES_OF_EXPERTS = 3  # of a matrix of all experts
_LONGEST_KERNEL = 64  # a third side up to it may be a convolution's


@dataclass(frozen=True, slots=True)
class WeightGroup:
    """Tensors of one pattern, logical shape and storage."""

    component: str  # name of the snapshot's component
    pattern: str  # `pattern`, `dtype`, `count`: as in `TensorGroup`
    dtype: str
    shape: tuple[int, ...]  # logical shape of one tensor, [out, in] for a linear even if packed
    count: int
    part: Part
    kind: Kind
    slot: Slot
    layers: Indices | None  # layer numbers in order; None outside the layer stack
    stored_bytes: int  # bytes of all its tensors in the files
    # a second copy of a tied matrix, or a buffer: stored, but not a parameter
    duplicate: bool = False
    unproven: bool = False  # packed, but its companions do not fit; the shape is a guess

    @property
    def elements(self) -> int:
        """Logical elements of one tensor."""
        return math.prod(self.shape)

    @property
    def parameters(self) -> int:
        """Unique parameters of all its tensors."""
        if self.duplicate or self.kind in (Kind.QUANT_AUX, Kind.BUFFER):
            return 0
        return self.elements * self.count


def weight_groups(
    component: str, tensors: Iterable[TensorGroup], quantization: StoredQuantization | None
) -> tuple[WeightGroup, ...]:
    """Classify every tensor group of a component and undo its packing."""
    groups = tuple(tensors)
    neighbours = Neighbours(groups)
    return tuple(_weight_group(component, group, neighbours, quantization) for group in groups)


def _weight_group(
    component: str,
    group: TensorGroup,
    neighbours: Neighbours,
    quantization: StoredQuantization | None,
) -> WeightGroup:
    aux = is_quant_aux(group, neighbours.dtypes)
    unpacked = group.shape if aux else unpacked_shape(group, neighbours, quantization)
    shape = unpacked.likely if isinstance(unpacked, Unproven) else unpacked
    # A matrix that was flattened to be packed has lost its sides, not its nature.
    classified_as = (1, *shape) if len(shape) == 1 < len(group.shape) else shape
    axis = layer_axis(group.pattern) if group.indices else None  # braces may be literal
    return WeightGroup(
        component=component,
        pattern=group.pattern,
        dtype=group.dtype,
        shape=shape,
        count=group.count,
        part=part_of(group.pattern),
        kind=Kind.QUANT_AUX if aux else kind_of(_stem(group.pattern), classified_as),
        slot=slot_of(group.pattern),
        layers=None if axis is None else group.indices[axis],
        stored_bytes=group.stored_bytes,
        unproven=isinstance(unpacked, Unproven),
    )


def _stem(pattern: str) -> str:
    # name of the tensor before packing: `….weight`
    for suffix in WEIGHT_SUFFIXES:
        if suffix != "_blocks" and pattern.endswith(suffix):
            return pattern.removesuffix(suffix) + ".weight"
    return pattern


def split_mtp_layers(
    groups: Iterable[WeightGroup], layers: int, stack: str = ""
) -> tuple[WeightGroup, ...]:
    """Move text layers numbered `layers` and above to the multi-token-prediction part."""
    # DeepSeek-V3 and GLM store their draft layer as one more `model.layers.N`. Deeper stacks with
    # other names than `stack` are no drafts: a codec, a talker.
    result: list[WeightGroup] = []
    for group in groups:
        drafts = group.part is Part.TEXT and stack_of(group.pattern).startswith(stack)
        if group.layers is None or not drafts or group.layers[-1] < layers:
            result.append(group)
            continue
        inside = tuple(i for i in group.layers if i < layers)
        outside = tuple(i for i in group.layers if i >= layers)
        if inside:
            result.append(with_layers(group, inside))
        result.append(replace(with_layers(group, outside), part=Part.MTP))
    return tuple(result)


def with_layers(group: WeightGroup, layers: Indices) -> WeightGroup:
    """Return the tensors restricted to some layers. Raise ValueError outside the layer stack."""
    if group.layers is None:
        raise ValueError(f"{group.pattern} is outside the layer stack")
    share = len(layers)
    layer_count = len(group.layers)
    return replace(
        group,
        layers=layers,
        count=group.count * share // layer_count,
        stored_bytes=group.stored_bytes * share // layer_count,
    )


def mark_tied_output(groups: Iterable[WeightGroup]) -> tuple[WeightGroup, ...]:
    """Mark a stored output matrix as the duplicate of the embedding it is tied to."""
    result = tuple(groups)
    embeddings = {(g.component, g.shape) for g in result if g.kind is Kind.EMBEDDING}
    return tuple(
        replace(g, duplicate=True)
        if g.kind is Kind.OUTPUT and (g.component, g.shape) in embeddings
        else g
        for g in result
    )


def mark_experts(groups: Iterable[WeightGroup], experts: int | None) -> tuple[WeightGroup, ...]:
    """Mark matrices of all experts of a layer, whose first side is `experts`."""
    # Step-3 (`moe.gate_proj.weight`) and JetMoE (`mlp.input_linear.weight`) use their own names.
    return tuple(replace(g, kind=Kind.EXPERT) if _holds_experts(g, experts) else g for g in groups)


def _holds_experts(group: WeightGroup, experts: int | None) -> bool:
    return (
        group.part is Part.TEXT
        and group.kind is Kind.CONV
        and group.layers is not None
        and len(group.shape) == _SIDES_OF_EXPERTS
        and group.shape[0] == experts
        and min(group.shape[1:]) > _LONGEST_KERNEL
    )
