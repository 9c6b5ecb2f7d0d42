"""Sharding and offload: the bytes that they leave on one GPU, and those that they add.

ZeRO's stages are DeepSpeed's. Stage 1 divides states alone: each GPU adds up whole gradients until
the last step of an accumulation, and only then exchanges them (runtime/engine.py,
allreduce_gradients: "Communicate only at gradient accumulation boundaries"). Before it updates it
frees those that others update (runtime/zero/stage_1_and_2.py, step: free_grad_in_param_list of
params_not_in_partition). Stages 2 and 3 divide gradients too, so they reduce them in every step
(github.com/deepspeedai/DeepSpeed/issues/2252).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.stacks import TrainingStack
from gpusizer.training.state import State

# DeepSpeed's defaults: elements gathered ahead and kept for reuse (stage3_max_live_parameters),
# elements of a bucket of gradients (reduce_bucket_size), and of one part of an update.
SUB_GROUP = 1_000_000_000
_LIVE_PARAMETERS = 1_000_000_000
_BUCKET = 500_000_000
_PINNED = 5 * 4  # DeepSpeed's aio: five buffers of FP32 elements for each GPU
_FP32 = 4
# Values of `offload` under which the optimizer and its states are not on the GPU.
OFFLOADED_STATES = frozenset({"optimizer", "model", "all", "nvme"})
_OFFLOADED_WEIGHTS = frozenset({"parameters", "model", "all", "nvme"})
_GATHERED_LAYERS = 2  # the one computed with and the one fetched meanwhile


@dataclass(frozen=True, slots=True)
class StateShare:
    """Bytes of one GPU, and of the hosts for every GPU together."""

    # weights, masters, gradients, optimizer: held by this GPU.
    weights: float
    masters: float
    gradients: float
    updated: float  # part of `gradients` that it still holds when it updates
    optimizer: float
    gathered: float  # weights of others, fetched for use; buckets of gradients
    live: float  # part of `gathered` that ZeRO-3 does not free before the update
    # host, nvme: moved to system memory, and to disks.
    host: float
    nvme: float


def share_of(
    state: State, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack
) -> StateShare:
    """Return the divided state. Tensor and pipeline parallelism divide everything."""
    model, kind = plan.model_parallel, plan.sharding
    gradients, updated = _gradients(state, plan, stack)
    divided = model * (plan.shards if kind in ("zero1", "zero2", "zero3", "fsdp") else 1)
    whole = StateShare(
        weights=state.weights / model / (plan.shards if kind in ("zero3", "fsdp") else 1),
        masters=(state.masters + state.ema) / divided,
        gradients=gradients,
        updated=updated,
        optimizer=state.optimizer / divided,
        gathered=_gathered(state, shape, plan, stack),
        live=0.0,
        host=0.0,
        nvme=0.0,
    )
    share = _offloaded(whole, state, shape, plan, stack)
    return replace(share, live=share.gathered) if kind == "zero3" and not plan.adapted else share


def _offloaded(
    share: StateShare,
    state: State,
    shape: TrainedShape,
    plan: TrainingPlan,
    stack: TrainingStack,
) -> StateShare:
    # Every replica has a copy of its own on the host. DeepSpeed takes gradients to where it
    # updates: with its states on the host they are there too, in FP32
    # (runtime/zero/stage_1_and_2.py, estimate_zero2_model_states_mem_needs: 2 bytes of a parameter
    # left on the GPU, 16 on the host). Stage 1 does so once they are added up, or, if its weights
    # are on the host, has them there whole.
    states = plan.offload in OFFLOADED_STATES
    weights = plan.offload in _OFFLOADED_WEIGHTS
    stays_gathered = plan.pipeline_parallel > 1  # whole stages, between micro-batches
    host = 0.0
    if states:
        host += share.optimizer + share.masters
        share = replace(share, optimizer=0.0, masters=0.0)
    if (weights and not stays_gathered) or (states and plan.sharding.startswith("zero")):
        host += share.gradients if weights else share.updated
        held = share.gradients if plan.sharding == "zero1" and not weights else 0.0
        share = replace(share, gradients=held, updated=0.0)
    if weights and stays_gathered:
        host += share.weights
    elif weights:
        host += share.weights
        gathered = max(share.gathered, _fetched(state, shape, plan, stack))
        share = replace(share, weights=0.0, gathered=gathered)
    host *= plan.gpus
    if plan.offload == "nvme":
        return replace(share, host=_PINNED * plan.gpus * _bucket(state, plan), nvme=host)
    return replace(share, host=host)


def _gradients(state: State, plan: TrainingPlan, stack: TrainingStack) -> tuple[float, float]:
    """Return gradient bytes of one GPU while they add up, and those that it updates with."""
    model = plan.model_parallel
    whole = state.gradients / model
    part = whole / plan.shards
    if plan.sharding == "zero1":
        return whole, part
    if plan.sharding not in ("zero2", "zero3", "fsdp"):
        return whole, whole
    if plan.sharding == "fsdp" and adds_up_whole(plan, stack):
        return max(part, state.compute_width * state.trainable / model), part
    return part, part


def adds_up_whole(plan: TrainingPlan, stack: TrainingStack) -> bool:
    """Return whether FSDP leaves gradients undivided until an update."""
    # FSDP can reduce in every step, or, in `no_sync`, add up whole gradients as they are computed
    # ("will incur additional memory", accelerate's guide to gradient synchronization); not while it
    # offloads. If that is not known of a framework, the larger need is assumed.
    held = plan.offload not in _OFFLOADED_WEIGHTS
    return plan.gradient_accumulation > 1 and stack.no_sync is not False and held


def _gathered(state: State, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack) -> float:
    """Return bytes of other GPUs' weights while they are used, and of DeepSpeed's buffers."""
    if plan.shards == 1 or plan.sharding in ("none", "ddp"):
        # DeepSpeed's buffers exist on one GPU too.
        if plan.sharding in ("zero1", "zero2", "zero3"):
            live = _live(state, shape, plan)
            return _buckets(state, plan) + (live if plan.sharding == "zero3" else 0)
        return 0.0
    if plan.sharding in ("zero1", "zero2"):
        return _buckets(state, plan)
    fetched = _fetched(state, shape, plan, stack)
    if plan.sharding == "zero3":
        return max(fetched, _live(state, shape, plan)) + _buckets(state, plan)
    return fetched


def _fetched(state: State, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack) -> float:
    """Return bytes of gathered weights: two whole layers, and the whole embedding and head."""
    # Embedding and head belong to no layer and stay with FSDP's root; ZeRO-3 frees each module once
    # it is used (runtime/zero/partitioned_param_coordinator.py, release_sub_module). Layers have
    # the width they are stored with, 4-bit ones are gathered in 4 bits; full training casts them
    # first.
    layers = min(_GATHERED_LAYERS, shape.layers) * shape.layer_parameters
    width = state.stored_width if plan.adapted else state.compute_width
    tables = (shape.embedding * state.compute_width, shape.output * state.compute_width)
    one_by_one = plan.sharding == "zero3"
    whole = max(layers * width, *tables) if one_by_one else layers * width + sum(tables)
    if not plan.adapted:  # a layer's gradient is whole until it is scattered
        whole += shape.layer_parameters * state.compute_width
        if stack.fsdp2 and plan.sharding == "fsdp":  # foreach_reduce copies it into one buffer
            reduced = _FP32 if stack.reduces_in_fp32 else state.compute_width
            whole += shape.layer_parameters * reduced
    if plan.pipeline_parallel > 1:  # whole stages stay gathered between micro-batches
        gradients = 0.0 if plan.adapted else _FP32
        whole = max(whole, (width + gradients) * shape.parameters)
    return whole / plan.model_parallel


def _buckets(state: State, plan: TrainingPlan) -> float:
    # Two buckets of gradients, one filled while the other is sent (overlap_comm).
    return _bucket(state, plan) * 2 * state.compute_width


def _bucket(state: State, plan: TrainingPlan) -> float:
    """Return elements of a bucket: at most the trained ones of this GPU's part of the model."""
    return min(_BUCKET, state.trainable / plan.model_parallel)


def _live(state: State, shape: TrainedShape, plan: TrainingPlan) -> float:
    """Return bytes that ZeRO-3 gathers ahead and keeps, of this GPU's part of the model."""
    return min(_LIVE_PARAMETERS, shape.parameters / plan.model_parallel) * state.compute_width
