"""Rollout: memory of an engine that writes samples on the GPUs that learn from them.

Reinforcement learning (GRPO, RLOO, online DPO) peaks twice: while an engine writes beside weights
and states, and while weights are updated. An engine on other GPUs needs nothing of these.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, exactly
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.stacks import TrainingStack

_ENGINE_BYTES = 2  # of a parameter, as the engine loads it: in 16 bits


@dataclass(frozen=True, slots=True)
class Rollout:
    """Bytes of one device."""

    engine_bytes: int  # share of the device that the engine takes
    weights_bytes: int  # bytes of the model in the engine, the least that its share has to hold
    beside_update_bytes: int  # the engine's own bytes that it holds during the update
    generation: Amount  # the engine beside weights, states and CUDA of the training
    update: Amount  # the training's need beside an engine that is awake or sleeps

    @property
    def loads(self) -> bool:
        """Whether the engine's share holds the model, with anything left for a cache."""
        return self.weights_bytes < self.engine_bytes

    @property
    def need(self) -> Amount:
        """The larger of both peaks."""
        return max(self.generation, self.update, key=lambda peak: peak.likely)


def rollout_of(
    memory: TrainingMemory,
    plan: TrainingPlan,
    stack: TrainingStack,
    parameters: int,
    device_bytes: int,
) -> Rollout | None:
    """Return the peaks of a plan on devices of `device_bytes`; None without an engine on them.

    `parameters` are the model's.
    """
    if plan.rollout_share is None:
        return None
    # vLLM in the trainer's process reserves a share of each card (TRL's
    # `vllm_gpu_memory_utilization`, https://github.com/huggingface/trl/pull/3394), which it keeps
    # during the update unless it sleeps then (https://github.com/huggingface/trl/pull/3968).
    # Unsloth's engine and training hold one set of weights (`fast_inference` of
    # unsloth/models/llama.py), in the engine's share.
    engine = round(plan.rollout_share * device_bytes)
    shared = memory.weights.likely if stack.shares_rollout_weights else 0
    stays = memory.weights + memory.optimizer + memory.context
    own = max(0, engine - shared)  # a share that is too small even for the weights does not load
    beside_update = 0 if plan.rollout_sleeps else own
    return Rollout(
        engine_bytes=engine,
        weights_bytes=shared or _ENGINE_BYTES * parameters,
        beside_update_bytes=beside_update,
        generation=stays + _bytes(own),
        update=memory.needed + _bytes(beside_update),
    )


def _bytes(amount: int) -> Amount:
    return exactly(amount, Provenance.DERIVED)
