"""Fits training plans to GPUs: number, division, and whether they hold the training."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.core.units import SECONDS_PER_HOUR, significant
from gpusizer.fit.division import max_boards
from gpusizer.fit.preference_key import SPARE_SHARE
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import rent_usd_per_hour
from gpusizer.speed.rate import Rate
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan, alone, with_precision
from gpusizer.training.rollout import Rollout, rollout_of
from gpusizer.training.speed import (
    NODE,
    is_measured,
    link_of,
    network_bytes_per_second,
    training_rate,
)
from gpusizer.training.stacks import find_stack

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)  # tried smallest first

SOFTWARE = frozenset({"CUDA", "ROCm"})  # stacks that rankings consider; others only if named

# The framework for adapters on one card that is too small for the usual one.
SPARING, SPARING_NAME = "unsloth", "Unsloth"
# CUDA capability that it needs
# (unsloth.ai/docs/get-started/fine-tuning-for-beginners/unsloth-requirements).
_SPARING_CAPABILITY = 7.0
_MOST_BOARDS_OF_A_CLUSTER = 1024
_MOST_TIMES_FOR_ROOM = 4
_SETTLES_FRAMEWORK = frozenset({"framework", "framework_version", "sharding", "offload"})


@dataclass(frozen=True, slots=True)
class TrainingFit:
    """One plan on `plan.gpus` devices."""

    gpu: Gpu
    count: int  # boards; `plan.gpus` counts devices, and a board may have two
    plan: TrainingPlan
    memory: TrainingMemory
    verdict: Verdict
    headroom_bytes: int  # to spare on each device at the likely values; negative when short
    # Both peaks of reinforcement learning, None if no engine writes on the GPUs.
    rollout: Rollout | None = None
    # The plan is under `SPARING`, as the framework of the request does not fit.
    spared: bool = False

    @property
    def need(self) -> Amount:
        """Memory that each device needs: the training's, or the larger peak with an engine."""
        return self.memory.needed if self.rollout is None else self.rollout.need

    @property
    def leaves_spare_share(self) -> bool:
        """Whether it surely fits and leaves SPARE_SHARE of each device free."""
        spare = self.headroom_bytes >= SPARE_SHARE * self.gpu.device_memory_bytes
        return self.verdict is Verdict.FITS and spare

    @property
    def room_bytes(self) -> int:
        """Bytes that each device leaves to the training while weights are updated."""
        return self.gpu.device_free_bytes - beside_update(self.rollout)


@dataclass(frozen=True, slots=True)
class TrainingCost:
    """Time, money and energy of the requested tokens on all GPUs; None if unknown."""

    hours: float | None
    usd: float | None  # rent of the hours
    energy_kwh: float | None  # at full board power; `energy_usd` its price
    energy_usd: float | None


class TrainingFitter:
    """Fitter of one model and request to any GPU; estimates are cached by plan."""

    def __init__(
        self,
        estimator: TrainingEstimator,
        plan: TrainingPlan,
        given: tuple[str, ...] = (),
        budget: TimeBudget | None = None,
    ) -> None:
        self.budget = budget or TimeBudget()
        self.estimator = estimator
        self.plan = plan
        self.given = given
        self._memories: dict[TrainingPlan, TrainingMemory] = {}

    def memory(self, plan: TrainingPlan) -> TrainingMemory:
        """Return the estimate, made once per plan.

        Raise LimitsExceeded once the time of the answer is spent.
        """
        self.budget.check(self.estimator.profile.repo_id)
        memory = self._memories.get(plan)
        if memory is None:
            memory = self._memories[plan] = self.estimator.estimate(plan)
        return memory

    def plans(self, devices: int) -> tuple[TrainingPlan, ...]:
        """Return the ways to use `devices`, fastest first: the requested sharding, else two."""
        if devices % self.plan.split:
            return ()
        # Replicas exchange only gradients; sharding adds the weights.
        kinds: tuple[str, ...] = ("ddp", "fsdp")
        if "sharding" in self.given and self.plan.sharding != "none":
            kinds = (self.plan.sharding,)
        elif devices == 1:
            kinds = ("none",)
        plans = (alone(self.plan.changed(gpus=devices, sharding=kind)) for kind in kinds)
        return tuple(with_precision(p, given="precision" in self.given) for p in plans)

    def on(self, gpu: Gpu, count: int, *, roomy: bool = False) -> TrainingFit | None:
        """Return the best plan on `count` boards; None when the split does not divide them.

        With `roomy` it is the first that has headroom, else the first that fits. If none fits and
        the request names no framework, one card may fit under `SPARING`.
        """
        best: TrainingFit | None = None
        for plan in self.plans(count * gpu.devices_per_board):
            fit = fit_of(gpu, count, plan, self.memory(plan), self._rollout(gpu, plan))
            if fit.verdict.all_on_gpu and (fit.leaves_spare_share or not roomy):
                return fit
            if best is None or not best.verdict.all_on_gpu:
                best = fit
        if best is None or best.verdict.all_on_gpu:
            return best
        for plan in self.spared(best):
            other = replace(fit_of(gpu, count, plan, self.memory(plan)), spared=True)
            if other.verdict.all_on_gpu:
                return other
        return best

    def spared(self, fit: TrainingFit) -> tuple[TrainingPlan, ...]:
        """Return the plan of a fit under `SPARING`, if it is a default for it, else ()."""
        # `SPARING` is for adapters of a language model on one card.
        plan, is_settled = fit.plan, not _SETTLES_FRAMEWORK.isdisjoint(self.given)
        if fit.spared or is_settled or not plan.adapted or plan.gpus > 1 or fit.rollout is not None:
            return ()
        capability = fit.gpu.kernel_class.cuda or 0.0
        runs = self.estimator.measured_kind and capability >= _SPARING_CAPABILITY
        return (plan.changed(framework=SPARING),) if runs else ()

    def _rollout(self, gpu: Gpu, plan: TrainingPlan) -> Rollout | None:
        if plan.rollout_share is None:
            return None
        stack = find_stack(plan.framework, plan.framework_version)
        parameters = self.estimator.shape.parameters
        return rollout_of(self.memory(plan), plan, stack, parameters, gpu.device_memory_bytes)

    def smallest(self, gpu: Gpu, *, roomy: bool = False) -> TrainingFit | None:
        """Return the smallest number of boards that holds the training, None when none does.

        With `roomy` up to four times as many boards are tried for headroom.
        """
        smallest: TrainingFit | None = None
        for count in COUNTS:
            if count > most_boards(gpu):
                break
            if smallest is not None and count > smallest.count * _MOST_TIMES_FOR_ROOM:
                break
            fit = self.on(gpu, count, roomy=roomy)
            if fit is None or not fit.verdict.all_on_gpu:
                continue
            if fit.leaves_spare_share or not roomy:
                return fit
            smallest = smallest or fit
        return smallest

    def largest_tried(self, gpu: Gpu) -> TrainingFit | None:
        """Return the fit on the most boards of one machine, for a GPU that never fits."""
        return self.on(gpu, min(NODE, most_boards(gpu)))

    def rate(self, fit: TrainingFit) -> Rate | None:
        """Return tokens per second of all GPUs; None if it does not run or nothing is known."""
        if fit.verdict is Verdict.DOES_NOT_FIT:
            return None
        shape, active = self.estimator.shape, self.estimator.profile.active_parameters
        plan = fit.plan
        state = self.estimator.state(plan)
        stack = find_stack(plan.framework, plan.framework_version)
        return training_rate(shape, active, state, plan, stack, fit.gpu)


def most_boards(gpu: Gpu) -> int:
    """Return the most boards of this kind to plan on: clusters are of datacenter boards."""
    return _MOST_BOARDS_OF_A_CLUSTER if gpu.is_for_servers else max_boards(gpu)


def fit_of(
    gpu: Gpu,
    count: int,
    plan: TrainingPlan,
    memory: TrainingMemory,
    rollout: Rollout | None = None,
) -> TrainingFit:
    """Return the fit of a plan on `count` boards.

    It does not fit if the likely need exceeds the device, or a rollout engine's share does not hold
    the model.
    """
    need, device = memory.needed if rollout is None else rollout.need, gpu.device_free_bytes
    verdict = Verdict.FITS if need.high <= device else Verdict.TIGHT
    if need.likely > device or (rollout is not None and not rollout.loads):
        verdict = Verdict.DOES_NOT_FIT
    held = memory.on(device - beside_update(rollout))
    return TrainingFit(gpu, count, plan, held, verdict, device - need.likely, rollout)


def beside_update(rollout: Rollout | None) -> int:
    """Return bytes of a device that a rollout engine holds while weights are updated."""
    return 0 if rollout is None else rollout.beside_update_bytes


def cost_of(
    gpu: Gpu, count: int, rate: Rate | None, tokens: float, usd_per_kwh: float
) -> TrainingCost:
    """Return time, rent and energy of `tokens` at the likely rate."""
    if rate is None or not rate.likely:
        return TrainingCost(None, None, None, None)
    hours = tokens / rate.likely / SECONDS_PER_HOUR
    rent, watts = rent_usd_per_hour(gpu), gpu.power_watts
    energy = None if watts is None else watts * count * hours / 1000
    return TrainingCost(
        hours=significant(hours),
        usd=None if rent is None else significant(rent * count * hours),
        energy_kwh=None if energy is None else significant(energy),
        energy_usd=None if energy is None else significant(energy * usd_per_kwh),
    )


def reasons_of(fit: TrainingFit) -> tuple[Note, ...]:
    """Return notes that the reader needs about this choice."""
    notes = [
        Note(f"training_{fit.verdict.value}", headroom_bytes=abs(fit.headroom_bytes)),
        *fit.gpu.statements,
    ]
    devices = fit.plan.gpus
    if fit.spared:
        notes.append(Note("training_spared", framework=SPARING_NAME))
    if devices > 1:
        notes.append(Note(f"training_{fit.plan.sharding}", devices=devices))
        link = link_of(fit.gpu, devices)
        if link == "pcie":
            notes.append(Note("no_fast_interconnect"))
        if link == "network":
            gbit = round(network_bytes_per_second(fit.gpu) * 8 / 1e9)
            notes.append(Note("training_network", gbit=gbit))
    if fit.rollout is not None:
        notes.append(_rollout_note(fit.rollout))
    if not fit.gpu.bf16_support:
        notes.append(Note("training_without_bf16"))
    if fit.gpu.software not in SOFTWARE:
        notes.append(Note("training_software", software=fit.gpu.software))
    if not is_measured(fit.gpu):
        notes.append(Note("training_speed_unmeasured"))
    if fit.memory.nvme:
        notes.append(Note("training_nvme", disk_bytes=fit.memory.nvme))
    if fit.memory.host:
        notes.append(Note("training_host_memory", ram_bytes=fit.memory.host))
    return tuple(notes)


def _rollout_note(rollout: Rollout) -> Note:
    if not rollout.loads:
        return Note(
            "training_rollout_too_small",
            engine_bytes=rollout.engine_bytes,
            weights_bytes=rollout.weights_bytes,
        )
    return Note(
        "training_rollout",
        engine_bytes=rollout.engine_bytes,
        generation_bytes=rollout.generation.likely,
        update_bytes=rollout.update.likely,
    )
