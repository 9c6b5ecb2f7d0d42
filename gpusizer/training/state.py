"""Weights, gradients and optimizer states: bytes by rule, before they are divided over GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.profile import ModelProfile
from gpusizer.training.adapters import adapter_parameters, targeted
from gpusizer.training.optimizers import (
    Optimizer,
    find_optimizer,
    state_bytes_of_matrix,
    state_bytes_of_rest,
)
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.stacks import Stack

# Bytes of a frozen weight in a matrix. NF4: 4 bits and an FP32 scale for 64 values, or, quantized
# twice, 8 bits for 64 and FP32 for 256 of those (Dettmers et al. 2023, arXiv:2305.14314).
BASE_BYTES = {
    "bf16": 2.0,
    "fp32": 4.0,
    "nf4": 0.5 + 4 / 64,
    "nf4-dq": 0.5 + 1 / 64 + 4 / (64 * 256),
    "int4": 0.5 + 2.5 / 128,  # GPTQ: a 16-bit scale and a 4-bit zero point for 128
    "int8": 1.0,
}
_PACKED = frozenset({"gptq", "awq", "bitsandbytes", "compressed-tensors", "hqq", "aqlm"})


@dataclass(frozen=True, slots=True)
class Widths:
    """Bytes of one trained parameter: weight, gradient, optimizer state, FP32 copy."""

    weight: float
    gradient: float
    state: float
    master: float


PRECISION_WIDTHS = {
    "bf16": Widths(2, 2, 2, 0),  # torchtune, LitGPT, torchao: everything in BF16
    "mixed": Widths(4, 4, 4, 0),  # torch.amp, FSDP2: FP32 weights, cast for each product
    "master": Widths(2, 4, 4, 4),  # DeepSpeed, Megatron: 18 bytes with AdamW
    "fp32": Widths(4, 4, 4, 0),
}


@dataclass(frozen=True, slots=True)
class State:
    """Bytes that stay from step to step, and gradients. Whole model, one copy.

    Attributes:
        frozen: weights that are not trained.
        trained: weights that are, adapters included.
        masters: FP32 copies of trained weights.
        ema: a moving average of them.
        gradients: of trained weights.
        optimizer: its states.
        trainable: trained parameters.
        compute_width: bytes of a weight as products take it.
        stored_width: bytes of a matrix's parameter as it is held.
    """

    frozen: float
    trained: float
    masters: float
    ema: float
    gradients: float
    optimizer: float
    trainable: int
    compute_width: int
    stored_width: float

    @property
    def weights(self) -> float:
        return self.frozen + self.trained


def base_of(profile: ModelProfile, plan: TrainingPlan, stack: Stack) -> str:
    """How the frozen weights are held, where the plan leaves it to the method."""
    if plan.base != "auto":
        return plan.base
    packed = profile.quantization is not None and profile.quantization.method in _PACKED
    if plan.method == "qlora":
        return "native" if packed else stack.qlora_base
    return "fp32" if plan.precision == "fp32" else "bf16"


def state_of(profile: ModelProfile, shape: TrainedShape, plan: TrainingPlan, stack: Stack) -> State:
    """The state of this plan."""
    optimizer = find_optimizer(plan.optimizer)
    if plan.adapted:
        return _adapted(profile, shape, plan, stack, optimizer)
    widths = PRECISION_WIDTHS[plan.precision]
    outside = shape.embedding + shape.output + untied(shape, stack)
    held = outside if plan.train_embeddings is False else 0
    trainable = shape.parameters + untied(shape, stack) - held
    states = sum(
        state_bytes_of_matrix(optimizer, matrix, widths.state, plan.low_rank)
        for matrix in shape.matrices
    ) + state_bytes_of_rest(optimizer, outside - held + shape.other, widths.state)
    return State(
        frozen=2.0 * shape.beside + plan.compute_bytes * held,
        trained=widths.weight * trainable,
        masters=widths.master * trainable,
        ema=4.0 * trainable if plan.ema else 0.0,
        gradients=widths.gradient * trainable,
        optimizer=states,
        trainable=trainable,
        compute_width=plan.compute_bytes,
        stored_width=widths.weight,
    )


def _adapted(
    profile: ModelProfile,
    shape: TrainedShape,
    plan: TrainingPlan,
    stack: Stack,
    optimizer: Optimizer,
) -> State:
    """Adapters beside frozen weights; with `train_embeddings` also both big matrices."""
    outside = shape.embedding + shape.output + untied(shape, stack)
    added = adapter_parameters(shape, plan.lora_targets, plan.lora_rank)
    if plan.method == "dora":  # one magnitude for every row
        found = targeted(shape, plan.lora_targets)
        added += sum(matrix.out_width * matrix.copies for matrix in found)
    opened = outside if plan.train_embeddings else 0
    frozen = frozen_bytes(profile, shape, base_of(profile, plan, stack), stack, outside - opened)
    frozen += 2.0 * shape.beside
    width = max(stack.adapter_bytes, plan.compute_bytes)
    master = 4 if plan.precision == "master" and width < 4 else 0
    state = 4 if master else width
    trainable = added + opened
    return State(
        frozen=frozen,
        trained=float(width * added + plan.compute_bytes * opened),
        masters=float(master * trainable),
        ema=0.0,
        gradients=float(width * trainable),
        optimizer=optimizer.states * (optimizer.state_bytes or state) * trainable,
        trainable=trainable,
        compute_width=plan.compute_bytes,
        stored_width=_stored_width(profile, shape, base_of(profile, plan, stack)),
    )


def _stored_width(profile: ModelProfile, shape: TrainedShape, base: str) -> float:
    """Bytes of a frozen matrix's parameter; of a packed checkpoint, what its files hold."""
    if base != "native":
        return BASE_BYTES[base]
    inside = max(1, shape.parameters - shape.embedding - shape.output)
    return max(0.5, (profile.weight_bytes - 2.0 * (shape.embedding + shape.output)) / inside)


def untied(shape: TrainedShape, stack: Stack) -> int:
    """Parameters of a second copy of a tied matrix."""
    tied = stack.unties and not shape.output and shape.generates
    return shape.embedding if tied else 0


def frozen_bytes(
    profile: ModelProfile, shape: TrainedShape, base: str, stack: Stack, outside: int
) -> float:
    """Bytes of frozen weights; quantized bases leave all but the layers' matrices in 16 bits."""
    inside = sum(matrix.parameters for matrix in shape.matrices if not matrix.tower)
    rest = outside + shape.parameters - inside - shape.embedding - shape.output
    quantized = base not in ("bf16", "fp32")
    raised = 4.0 if stack.upcast_rest and quantized else 2.0
    if base == "native":
        beside = shape.embedding + shape.output
        return profile.weight_bytes - 2.0 * beside + raised * outside
    if base == "fp32":
        return 4.0 * (inside + rest)
    return BASE_BYTES[base] * inside + raised * rest
