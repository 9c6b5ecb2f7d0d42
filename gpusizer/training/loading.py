"""What a GPU holds beside the weights while they are loaded and quantized."""

from __future__ import annotations

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.model.profile import ModelProfile
from gpusizer.training.frozen import base_of, is_quantized_at_load, quantizes_fused
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.stacks import TrainingStack

_STORED = 2  # bytes of a weight before it is quantized
_READ_AHEAD_LAYERS = 4
"""Layers in 16 bits that threads of transformers 5 may have brought to the GPU before they are
quantized one by one (core_model_loading.py, spawn_materialize); gpt-oss-20b on an A100: five.
"""


def staging(
    profile: ModelProfile, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack
) -> Amount:
    """Bytes of 16-bit weights on their way to 4 or 8 bits, beside those that are done.

    The likely one is the largest tensor. Sharded weights are quantized before they are divided, on
    the host (FSDP with cpu_ram_efficient_loading, ZeRO-3).
    """
    base = base_of(profile, plan, stack)
    whole = plan.sharding not in ("fsdp", "zero3")
    if not (plan.adapted and whole and is_quantized_at_load(base)):
        return exactly(0, Provenance.DERIVED)
    fused = quantizes_fused(profile, stack)
    largest = max(
        (
            matrix.parameters / max(1, shape.layers)
            if matrix.fused and fused
            else matrix.out_width * matrix.in_width
            for matrix in shape.matrices
        ),
        default=0,
    )
    layers = _READ_AHEAD_LAYERS * shape.layer_parameters if stack.fuses_experts else largest
    return fitted(0, _STORED * largest, _STORED * max(largest, layers))
