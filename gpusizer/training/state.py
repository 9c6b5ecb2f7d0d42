"""Bytes of weights, gradients and optimizer states, before they are divided over GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.model.profile import ModelProfile
from gpusizer.training.adapters import adapters, targeted
from gpusizer.training.frozen import (
    BESIDE_BYTES,
    base_of,
    frozen_bytes,
    is_quantized,
    is_raised,
    keeps_expanded,
    rotary_bytes,
    stored_width,
)
from gpusizer.training.optimizers import (
    Optimizer,
    find_optimizer,
    state_bytes_of_adapter,
    state_bytes_of_matrix,
    state_bytes_of_rest,
    state_bytes_of_table,
)
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.stacks import TrainingStack

_RAISED = 4  # PEFT raises embedding and head to FP32 before it copies those to train


@dataclass(frozen=True, slots=True)
class StateWidths:
    """Bytes of one trained parameter: weight, gradient, optimizer state, FP32 copy."""

    weight: float
    gradient: float
    state: float
    master: float


PRECISION_WIDTHS = {
    "bf16": StateWidths(2, 2, 2, 0),  # torchtune, LitGPT, torchao: everything in BF16
    "mixed": StateWidths(4, 4, 4, 0),  # torch.amp, FSDP2: FP32 weights, cast for each product
    "master": StateWidths(2, 4, 4, 4),  # DeepSpeed, Megatron: 18 bytes with AdamW
    "fp32": StateWidths(4, 4, 4, 0),
}


@dataclass(frozen=True, slots=True)
class State:
    """Bytes that stay from step to step, and gradients. Whole model, one copy."""

    frozen: float  # weights that are not trained, `frozen_parameters` of them
    frozen_parameters: int
    trained: float  # weights that are trained, adapters included
    masters: float  # FP32 copies of trained weights
    ema: float  # a moving average of trained weights
    gradients: float  # gradients of trained weights
    optimizer: float
    trainable: int  # trained parameters
    quantized: bool  # whether frozen matrices are expanded to be multiplied with
    keeps_expanded: bool  # whether all of a layer then stay expanded
    compute_width: int  # bytes of a weight as products take it
    stored_width: float  # bytes of a matrix's parameter as it is held

    @property
    def weights(self) -> float:
        """Bytes of frozen and trained weights."""
        return self.frozen + self.trained


def state_of(
    profile: ModelProfile, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack
) -> State:
    """Return the state of this plan; `shape` is as the stack holds it (`TrainingStack.unties`)."""
    optimizer = find_optimizer(plan.optimizer)
    if plan.adapted:
        return _adapted(profile, shape, plan, stack, optimizer)
    widths = PRECISION_WIDTHS[plan.precision]
    outside = shape.embedding + shape.output
    held = outside if plan.train_embeddings is False else 0
    trainable = shape.parameters - held
    states = sum(
        state_bytes_of_matrix(optimizer, matrix, widths.state, plan.low_rank)
        for matrix in shape.matrices
    )
    states += state_bytes_of_table(optimizer, outside - held, shape.hidden, widths.state)
    states += state_bytes_of_rest(optimizer, shape.other, widths.state)
    return State(
        frozen=BESIDE_BYTES * shape.beside + plan.compute_bytes * held,
        frozen_parameters=shape.beside + held,
        trained=widths.weight * trainable,
        masters=widths.master * trainable,
        ema=4.0 * trainable if plan.ema else 0.0,
        gradients=widths.gradient * trainable,
        optimizer=states,
        trainable=trainable,
        quantized=False,
        keeps_expanded=False,
        compute_width=plan.compute_bytes,
        stored_width=widths.weight,
    )


def _adapted(
    profile: ModelProfile,
    shape: TrainedShape,
    plan: TrainingPlan,
    stack: TrainingStack,
    optimizer: Optimizer,
) -> State:
    # Adapters beside frozen weights; with `train_embeddings` also both big matrices.
    outside = shape.embedding + shape.output
    matrices = adapters(shape, plan.lora_targets, plan.lora_rank, plan.adapters_on_towers)
    magnitudes = _magnitudes(shape, plan)
    added = sum(matrix.parameters for matrix in matrices) + magnitudes
    opened = outside if plan.train_embeddings else 0
    base = base_of(profile, plan, stack)
    new = _beside_frozen(max(stack.adapter_bytes, plan.compute_bytes), plan)
    raised = is_raised(profile, base, stack)
    old = _beside_frozen(_RAISED if raised else plan.compute_bytes, plan)
    states = sum(state_bytes_of_adapter(optimizer, matrix, new.state) for matrix in matrices)
    states += state_bytes_of_rest(optimizer, magnitudes, new.state)
    states += state_bytes_of_table(optimizer, opened, shape.hidden, old.state)
    trainable = added + opened
    return State(
        frozen=frozen_bytes(profile, shape, base, stack, outside - opened)
        + rotary_bytes(profile, shape, plan, stack),
        frozen_parameters=shape.parameters + shape.beside - opened,
        trained=new.weight * added + old.weight * opened,
        masters=new.master * added + old.master * opened,
        ema=4.0 * trainable if plan.ema else 0.0,
        gradients=new.gradient * added + old.gradient * opened,
        optimizer=states,
        trainable=trainable,
        quantized=is_quantized(profile, base),
        keeps_expanded=keeps_expanded(profile, base, stack),
        compute_width=plan.compute_bytes,
        stored_width=stored_width(profile, shape, base),
    )


def _magnitudes(shape: TrainedShape, plan: TrainingPlan) -> int:
    if plan.method != "dora":
        return 0
    # DoRA adds a parameter for every row of a targeted matrix.
    matrices = targeted(shape, plan.lora_targets, plan.adapters_on_towers)
    return sum(matrix.out_width * matrix.copies for matrix in matrices)


def _beside_frozen(width: int, plan: TrainingPlan) -> StateWidths:
    # Gradient and states have the parameter's own width. DeepSpeed adds FP32 copies for parameters
    # of 16 bits, and keeps the states of those.
    copied = plan.precision == "master" and width < 4
    return StateWidths(width, width, 4, 4) if copied else StateWidths(width, width, width, 0)
