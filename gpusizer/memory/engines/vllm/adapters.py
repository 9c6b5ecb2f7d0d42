"""Buffers of LoRA adapters that vLLM serves beside a model."""

from __future__ import annotations

from gpusizer.memory.engines.base import Placement
from gpusizer.model.tensor_roles import Kind, Part, Slot, is_expert
from gpusizer.model.weights import WeightGroup

_ELEMENT_BYTES = 2  # lora_dtype follows the model's 16 bits
_ROW_PARALLEL = (Slot.O, Slot.DOWN)


def adapter_bytes(placement: Placement) -> int:
    """Bytes of `lora_a_stacked` and `lora_b_stacked` on one GPU (vllm/lora/layers).

    Each linear of the decoder has max_loras x max_lora_rank x (inputs + outputs) numbers. Of
    layers that divide their outputs a rank holds all inputs and its part of the outputs, of those
    that divide their inputs the reverse. Routed experts are left out.
    """
    workload, split = placement.workload, placement.split
    if not workload.max_loras:
        return 0
    adapted = filter(_adapts, placement.profile.groups)
    numbers = sum(_numbers(group, split.tensor) for group in adapted)
    of_stage = -(-numbers // split.pipeline)
    return workload.max_loras * workload.max_lora_rank * of_stage * _ELEMENT_BYTES


def _adapts(group: WeightGroup) -> bool:
    return (
        group.part is Part.TEXT
        and group.kind is Kind.LINEAR
        and group.layers is not None
        and len(group.shape) == 2
        and not is_expert(group.pattern)
    )


def _numbers(group: WeightGroup, ranks: int) -> int:
    """Inputs and outputs of all the group's matrices that one rank holds, for a rank of one."""
    outputs, inputs = group.shape
    if group.slot in _ROW_PARALLEL:
        inputs = -(-inputs // ranks)
    else:
        outputs = -(-outputs // ranks)
    return group.count * (inputs + outputs)
