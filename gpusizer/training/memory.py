"""TrainingEstimator: the peak of one GPU, the largest of five moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.core.units import GIB
from gpusizer.model.profile import HEADERS, ModelProfile
from gpusizer.model.tensor_roles import Part
from gpusizer.training.activations import Kept, kept_by_token
from gpusizer.training.frozen import base_of, dynamic_bytes, staging
from gpusizer.training.lengths import given_back, left_by_lengths, shortest_of
from gpusizer.training.logits import (
    HeadStep,
    elastic_chunk,
    head_step,
    kept_outputs,
    logits_of_token,
)
from gpusizer.training.optimizers import find_optimizer
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape, trained_shape
from gpusizer.training.sharding import OFFLOADED_STATES, SUB_GROUP, StateShare, share_of
from gpusizer.training.stacks import TrainingStack, find_stack
from gpusizer.training.state import State, state_of

# Differences of a CUDA context with cuBLAS workspaces by driver and card.
_CONTEXT_BELOW, _CONTEXT_ABOVE = int(0.2 * GIB), int(0.3 * GIB)

_UNEXPLAINED = 0.06  # share of all tensors: excess over the estimate in nine of ten published runs
# Bytes of a parameter that bitsandbytes, quantizing at load, can leave in the allocator's pool: 5
# and 9 GiB of CodeLlama-34B (README of unslothai/unsloth), 4.6 of Qwen-7B against its GPTQ run
# (ms-swift); nothing in Axolotl's and LLaMA-Factory's runs, so the high end alone has it.
_FRAGMENTED = 0.3
_GATHER_RESERVE = 0.15  # blocks that gathered layers leave between longer lived ones
_UPDATE_TEMPORARIES = 3  # of one parameter: torchtune on Llama-3-8B holds 18.9 GiB, 15.0 of weights
# The settings of a plan that `state_of` reads; the others divide the state or add to it.
_SETTINGS_OF_STATE = attrgetter(
    "method",
    "optimizer",
    "precision",
    "lora_rank",
    "lora_targets",
    "adapters_on_towers",
    "base",
    "train_embeddings",
    "ema",
    "low_rank",
    "framework",
    "framework_version",
    "sequence_length",
)


@dataclass(frozen=True, slots=True)
class Bands:
    """Factors from the likely bytes of temporary tensors to the low and the high end."""

    low: float
    high: float

    def around(self, amount: float) -> Amount:
        """Return the amount inside its band."""
        if not amount:
            return exactly(0, Provenance.DERIVED)
        return fitted(amount * self.low, amount, amount * self.high)


# Language models: nine of ten published runs lie inside (bench.accuracy --training).
MEASURED_BANDS = Bands(0.6, 1.5)
# Encoders, vision, diffusion, totals without tensors: hardly any run is published.
OTHER_BANDS = Bands(0.5, 2.0)


@dataclass(frozen=True, slots=True)
class _Step:
    """Bytes of temporary tensors in a step on one GPU."""

    kept: float
    layer: float
    logits: float
    elastic: float
    varied: Amount
    update: float
    staging: float
    unpacked: float
    largest: float
    head: HeadStep


def is_measured_kind(profile: ModelProfile) -> bool:
    """Return whether the model is a decoder whose tensors were read, as in most measurements."""
    arch = profile.architecture
    parts = {group.part for group in profile.groups}
    decoder = arch is not None and arch.generates and bool(arch.vocab_size)
    return decoder and Part.ENCODER not in parts and profile.weights_basis == HEADERS


class TrainingEstimator:
    """Estimator of one model under any plan; it computes once what depends on the model alone."""

    def __init__(self, profile: ModelProfile) -> None:
        self.profile = profile
        self.shape = trained_shape(profile)
        self.measured_kind = is_measured_kind(profile)
        self.bands = MEASURED_BANDS if self.measured_kind else OTHER_BANDS
        self._states: dict[tuple[object, ...], State] = {}

    def state(self, plan: TrainingPlan) -> State:
        """Return weights, gradients and optimizer states of the whole model, undivided."""
        # Computed once for all the ways to divide it and for every GPU.
        key = _SETTINGS_OF_STATE(plan)
        if key not in self._states:
            stack = find_stack(plan.framework, plan.framework_version)
            self._states[key] = state_of(self.profile, self._held(stack), plan, stack)
        return self._states[key]

    def estimate(self, plan: TrainingPlan) -> TrainingMemory:
        """Return memory of one GPU under this plan. Raise InvalidRequest for unknown names."""
        stack = find_stack(plan.framework, plan.framework_version)
        # If lengths vary and a stack cuts the logits of long steps alone, a short one may need more
        # than the longest.
        longest, short = self._estimate(plan, stack), stack.whole_logits_tokens // plan.micro_batch
        if not shortest_of(plan) <= short < plan.sequence_length:
            return longest
        other = self._estimate(plan.changed(sequence_length=short), stack)
        return max(longest, other, key=lambda memory: memory.needed.likely)

    def _estimate(self, plan: TrainingPlan, stack: TrainingStack) -> TrainingMemory:
        shape = self._held(stack)
        state = self.state(plan)
        share = share_of(state, shape, plan, stack)
        kept_bytes = kept_by_token(shape, plan, stack, quantized=state.quantized)
        staged = staging(self.profile, shape, plan, stack)
        step = _step(shape, plan, stack, state, kept_bytes, share, staged.likely)
        return _at_peak(self.profile, plan, stack, state, share, step, staged, self.bands)

    def _held(self, stack: TrainingStack) -> TrainedShape:
        shape = self.shape.untied() if stack.unties else self.shape
        if not stack.fuses_experts:
            return shape
        return shape.with_fused_experts(stack.fused_rank, stored=stack.names_stored_experts)


def _step(
    shape: TrainedShape,
    plan: TrainingPlan,
    stack: TrainingStack,
    state: State,
    kept: Kept,
    share: StateShare,
    staged: float,
) -> _Step:
    tokens = plan.tokens
    everything = kept.per_token(plan.sequence_length) * tokens
    layer = everything / max(1, shape.layers)
    working = kept.working_per_token(plan.sequence_length) * tokens / max(1, shape.layers)
    vectors = shape.hidden * plan.compute_bytes * tokens * shape.layers
    held = everything
    if plan.gradient_checkpointing == "full":
        held, working = vectors, working + layer
    elif plan.gradient_checkpointing == "selective":
        held, working = kept.products * tokens + vectors, working + layer
    if plan.offload in ("activations", "all") or (
        stack.offloads_activations and plan.gradient_checkpointing == "full"
    ):
        held = min(held, 2 * vectors / max(1, shape.layers))
    # As many parts of the batch are on their way through a pipeline as it has stages (1F1B).
    together = plan.micro_batch if plan.pipeline_parallel > 1 else 1
    on_way = min(plan.pipeline_parallel, together)
    if stack.splits_by_stages:
        together = on_way
    logits = logits_of_token(shape, plan, stack, state) * tokens / plan.tensor_parallel / together
    return _Step(
        kept=held / plan.model_parallel * on_way / together,
        layer=working / plan.tensor_parallel / together,
        logits=logits + kept_outputs(shape, plan, stack) * (tokens - tokens / together),
        elastic=elastic_chunk(shape, plan, stack),
        varied=left_by_lengths(kept, shape, plan, stack, logits),
        staging=staged,
        update=_update(shape, plan, stack, state, share),
        unpacked=_unpacked(shape, state),
        largest=_largest_gradient(shape, plan, state),
        head=head_step(shape, plan, stack, state),
    )


def _largest_gradient(shape: TrainedShape, plan: TrainingPlan, state: State) -> float:
    """Return bytes of this GPU's part of the gradient of the largest parameter."""
    width = state.gradients / max(1, state.trainable)
    elements = min(shape.largest_parameter, state.trainable)
    return width * elements / plan.model_parallel / plan.shards


def _update(
    shape: TrainedShape,
    plan: TrainingPlan,
    stack: TrainingStack,
    state: State,
    share: StateShare,
) -> float:
    """Return bytes of the update's temporaries."""
    if plan.offload in OFFLOADED_STATES:
        return 0.0
    # Temporaries of one parameter if each is updated in the backward pass (torch.optim.AdamW of one
    # tensor: the square root of its moment, the denominator, the step), else one of every
    # parameter, or FP32 gradients of a share.
    updated = state.trainable / plan.model_parallel / plan.shards
    if plan.optimizer_in_backward:
        return _UPDATE_TEMPORARIES * _largest_gradient(shape, plan, state)
    if plan.sharding == "zero3":  # works through groups of a thousand million parameters
        return share.live + 4 * min(SUB_GROUP, updated)
    if plan.sharding in ("zero1", "zero2") and state.masters:
        return 4 * updated
    optimizer = find_optimizer(plan.optimizer)
    plain = optimizer.states and optimizer.state_bytes is None and not optimizer.paged
    if stack.foreach and plain and not plan.adapted:
        return share.optimizer / optimizer.states
    return 0.0


def _unpacked(shape: TrainedShape, state: State) -> float:
    """Return bytes of quantized matrices that are expanded to 16 bits at once."""
    if not state.quantized:
        return 0.0
    expanded = shape.layer_parameters if state.keeps_expanded else shape.largest_matrix
    return expanded * state.compute_width


def _at_peak(
    profile: ModelProfile,
    plan: TrainingPlan,
    stack: TrainingStack,
    state: State,
    share: StateShare,
    step: _Step,
    staged: Amount,
    bands: Bands,
) -> TrainingMemory:
    paged = share.optimizer if find_optimizer(plan.optimizer).paged else 0.0
    states = share.optimizer - paged + share.masters
    # The largest of loading, the loss, the last and the first layer backwards, the update.
    first, *_ = moments = _moments(plan, stack, share, step)
    phase, moment, held = _peak(moments, step.staging, states, stack.reserve)
    coming = sum(moment)
    if plan.shards > 1 and plan.sharding in ("fsdp", "zero3"):
        held += _GATHER_RESERVE * (share.weights + share.gathered)
    elastic = max(0.0, sum(first[1]) - step.logits + step.elastic - coming)
    shrinks = Amount(0, round(elastic), round(elastic), Provenance.DERIVED)
    static = share.weights + states
    context = int(stack.context_gib * GIB)
    weights = _weights(profile, plan, stack, share.weights)
    margin = 2 * held + _UNEXPLAINED * (static + coming)
    if step.staging:  # what loading needs at its high end is needed whatever comes after it
        most = (bands.high + 2 * stack.reserve) * step.staging
        most += _UNEXPLAINED * (share.weights + step.staging)
        banded = bands.high * (coming - moment.gradients)
        margin = max(margin, most - states - moment.gradients - banded)
    if staged.high:
        margin += _FRAGMENTED * state.frozen_parameters / plan.model_parallel
    held_at_once = round(moment.gradients)
    return TrainingMemory(
        weights=weights,
        loading=weights + staged,
        # Held at once: less than all where each is used as it is computed.
        gradients=Amount(
            round(moment.gradients / 2), held_at_once, held_at_once, Provenance.DERIVED
        ),
        optimizer=_derived(states),
        paged=round(paged),
        activations=bands.around(moment.activations),
        logits=bands.around(moment.logits),
        buffers=bands.around(moment.buffers),
        reserve=fitted(0, held, margin) + step.varied + shrinks,
        reclaimable=given_back(step.varied) + shrinks,
        elastic=round(elastic),
        context=fitted(context - _CONTEXT_BELOW, context, context + _CONTEXT_ABOVE),
        phase=phase,
        host=round(share.host + paged * plan.gpus),
        nvme=round(share.nvme),
        trainable=state.trainable,
        base=base_of(profile, plan, stack) if plan.adapted else "",
    )


def _peak(
    moments: Sequence[tuple[str, _Moment]], staging: float, states: float, reserve: float
) -> tuple[str, _Moment, float]:
    """Return the largest moment, its name, and bytes of blocks the allocator holds beside it."""
    phase, moment = max(moments, key=lambda named: sum(named[1]))
    held = reserve * sum(moment)
    # While weights are loaded there are no states, but blocks are a part of all that is on its way.
    if staging > states and (1 + reserve) * staging - states > sum(moment) + held:
        return "loading", _Moment(0.0, 0.0, 0.0, staging - states), reserve * staging
    return phase, moment, held


def _weights(
    profile: ModelProfile, plan: TrainingPlan, stack: TrainingStack, held: float
) -> Amount:
    """Return bytes of weights."""
    base = base_of(profile, plan, stack)
    twice = plan.adapted and base == "nf4-dq"
    unknown = twice and dynamic_bytes(profile, base, stack) is None
    # A plain name may mean a dynamic 4-bit repository, which is larger; the share counts if its
    # size is unknown.
    more = stack.dynamic_share if unknown else 0.0
    return fitted(held, held, held * (1 + more)) if more else _derived(held)


class _Moment(NamedTuple):
    """Bytes of one GPU at one moment of a step, beside weights, gradients and states."""

    gradients: float
    activations: float
    logits: float
    buffers: float


def _moments(
    plan: TrainingPlan, stack: TrainingStack, share: StateShare, step: _Step
) -> tuple[tuple[str, _Moment], ...]:
    # Each moment that can need most, with its name; the loss comes first. The backward pass begins
    # with all kept activations and ends with all gradients; the current layer is computed again at
    # either end.
    gradients, updated = share.gradients, share.updated
    if plan.optimizer_in_backward:  # each is used and freed before the next is whole
        gradients, updated = (min(step.largest, held) for held in (gradients, updated))
    there_before = plan.gradient_accumulation > 1 or stack.keeps_gradients
    accumulated = gradients if there_before else 0.0
    # FSDP frees blocks on another stream: they are not yet reusable when the next are needed.
    wrapped = plan.sharding == "fsdp" or (stack.wraps_replicas and plan.sharding == "ddp")
    late = step.layer if wrapped and not stack.fsdp2 else 0.0
    working, head = share.gathered + step.unpacked, step.head
    return (
        ("loss", _Moment(accumulated, step.kept + late, step.logits, working)),
        ("loss", _Moment(accumulated + head.gradient, step.kept + late, head.logits, working)),
        ("backward", _Moment(accumulated, step.kept + step.layer, 0.0, working)),
        ("backward", _Moment(gradients, step.layer, 0.0, working)),
        ("update", _Moment(updated, 0.0, 0.0, step.update)),
    )


def _derived(amount: float) -> Amount:
    return exactly(round(amount), Provenance.DERIVED)
