"""Finds which models run on one kind of GPU or one machine, and at which quantization.

Each model gets the most faithful recommended quantization that surely fits, else one that is
tight. Quantizations whose weights alone exceed the memory are skipped before any estimate, and
figures that only shown rows need are computed for those rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.answers.models_for.model_library import CandidateModel
from gpusizer.answers.models_for.tasks import Task, task_of
from gpusizer.answers.selection import select_quants
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.fit import Fit, Fitter, Verdict
from gpusizer.fit.mixed_gpus.machine import Rig
from gpusizer.fit.mixed_gpus.rig_plan import RigPlan, plan_rig
from gpusizer.fit.speed import Rate, decode_rate, prefill_rate
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import DEFAULT_CONTEXT, Workload
from gpusizer.model.profile import ModelProfile

Resolve = Callable[[Workload, ModelProfile], tuple[Workload, tuple[Note, ...]]]
"""The workload within what a model allows."""

_SURELY_LOADED = (
    0.97  # share of the nominal weights: layouts round, and engines leave out small tensors
)


@dataclass(frozen=True, slots=True)
class Runs:
    """A model that runs, without the figures that take long to compute.

    Attributes:
        fitter: the model and the workload within its limits.
        estimate: on one kind of GPU; None on a rig.
        plan: on a rig.
    """

    candidate: CandidateModel
    task: Task
    fitter: Fitter
    verdict: Verdict
    estimate: MemoryEstimate | None
    plan: RigPlan | None

    @property
    def profile(self) -> ModelProfile:
        return self.fitter.profile

    @property
    def most_tokens_per_second(self) -> float | None:
        """What reading from the disk allows at most; None where nothing is read from there."""
        disk = None if self.plan is None else self.plan.disk
        return None if disk is None else disk.most_tokens_per_second

    @property
    def shown_estimate(self) -> MemoryEstimate:
        """The estimate on one kind of GPU, or on the rig."""
        if self.estimate is not None:
            return self.estimate
        assert self.plan is not None  # a model that runs does so on a GPU or on a rig
        return self.plan.estimate


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A row of the answer: a model that runs, with what fits beside it and how fast it is."""

    runs: Runs
    fit: Fit | None
    decode: Rate | None
    prefill: Rate | None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every model: quantizations and workload, both as requested.

    All models share the time of one answer.
    """

    quants: tuple[str, ...]
    workload: Workload
    resolve: Resolve
    budget: TimeBudget


def on_gpu(
    candidates: Iterable[CandidateModel], gpu: Gpu, boards: int, question: Question
) -> Iterator[Runs]:
    """Models that run on so many boards."""
    memory = gpu.device_free_bytes * gpu.devices_per_board * boards
    for candidate in candidates:
        fitter = _fitter(candidate, memory, question)
        best = None if fitter is None else _best(fitter, gpu, boards)
        if fitter is not None and best is not None:
            verdict, estimate = best
            yield Runs(candidate, task_of(candidate.profile), fitter, verdict, estimate, None)


def on_rig(
    candidates: Iterable[CandidateModel], rig: Rig, question: Question, *, from_disk: bool = False
) -> Iterator[Runs]:
    """Models that run on a machine; layers in system memory only where its size is known.

    With `from_disk` also those that fit no memory and that llama.cpp reads from the disk for each
    token, in the fewest bits of a usual quantization. Without it they are left out, because nearly
    every model runs that way.
    """
    memory = sum(gpu.device_free_bytes for gpu in rig.gpus) + (rig.free_ram_bytes or 0)
    for candidate in candidates:
        if candidate.profile.architecture is None:
            continue
        runs = _in_memory(candidate, rig, _fitter(candidate, memory, question))
        if runs is None and from_disk and rig.ram_bytes is not None:
            runs = _from_disk(candidate, rig, _fitter(candidate, math.inf, question))
        if runs is not None:
            yield runs


def _in_memory(candidate: CandidateModel, rig: Rig, fitter: Fitter | None) -> Runs | None:
    """The model on the GPUs of a machine, with a part in system memory where its size is known."""
    fitter = None if fitter is None else _llama_cpp_only(fitter)
    if fitter is None or not fitter.quants:
        return None
    plan = plan_rig(fitter, rig, explore=False)
    unsaid = plan.verdict is Verdict.OFFLOAD and rig.ram_bytes is None
    if not plan.verdict.in_memory or unsaid:
        return None
    return Runs(candidate, task_of(candidate.profile), fitter, plan.verdict, None, plan)


def _from_disk(candidate: CandidateModel, rig: Rig, fitter: Fitter | None) -> Runs | None:
    """The model in the fewest bits, with a part on the disk of a machine."""
    pairs = [] if fitter is None else _llama_cpp_only(fitter).quants
    if fitter is None or not pairs:
        return None
    narrowest = min(pairs, key=lambda pair: (_least_bytes(candidate, *pair), pair[0].order))
    fitter = Fitter(fitter.profile, fitter.workload, [narrowest], fitter.budget)
    plan = plan_rig(fitter, rig, explore=False)
    if plan.verdict is not Verdict.FROM_DISK:
        return None
    return Runs(candidate, task_of(candidate.profile), fitter, plan.verdict, None, plan)


def row(runs: Runs, gpu: Gpu | None, boards: int, rig: Rig | None) -> RunsOn:
    """The row of a model, with the figures that only shown rows have."""
    if runs.estimate is None or gpu is None:
        assert rig is not None
        plan = plan_rig(runs.fitter, rig)
        shown = replace(runs, plan=plan)
        return RunsOn(shown, None, plan.decode, None)
    fitter, estimate = runs.fitter, runs.estimate
    return RunsOn(
        runs,
        fitter.fit(gpu, boards, estimate),
        decode_rate(fitter.profile, estimate, fitter.workload, gpu),
        prefill_rate(fitter.profile, estimate, fitter.workload, gpu),
    )


def _fitter(candidate: CandidateModel, memory: float, question: Question) -> Fitter | None:
    """The fitter of the quantizations whose weights are below `memory` bytes, None where there are
    none.

    None too where the model's limit is below a context that was asked for.
    """
    profile, requested = candidate.profile, question.workload
    try:
        workload, _ = question.resolve(requested, profile)
    except InvalidRequest:  # vLLM does not start with a longer context than the model's
        return None
    if workload.context < requested.context != DEFAULT_CONTEXT:
        return None
    rankable = select_quants(question.quants, profile, workload.engine).rankable
    affordable = [pair for pair in rankable if _least_bytes(candidate, *pair) <= memory]
    return Fitter(profile, workload, affordable, question.budget) if affordable else None


def _least_bytes(candidate: CandidateModel, quant: Quant, native: bool) -> float:
    """A lower bound of the bytes of weights on GPUs, from the nominal bits of a quantization."""
    if native:
        return candidate.core_bytes * _SURELY_LOADED
    return candidate.core_parameters * quant.bits / 8 * _SURELY_LOADED


def _best(fitter: Fitter, gpu: Gpu, boards: int) -> tuple[Verdict, MemoryEstimate] | None:
    tight = None
    for quant, native in sorted(fitter.quants, key=lambda pair: pair[0].order):
        engine = _first(fitter.engines(quant), quant, gpu)
        estimate = (
            None if engine is None else fitter.estimate_on(gpu, boards, quant, native, engine)
        )
        if estimate is None:
            continue
        verdict = fitter.verdict(gpu, estimate)
        if verdict is Verdict.FITS:
            return verdict, estimate
        if verdict is Verdict.TIGHT and tight is None:
            tight = (verdict, estimate)
    return tight


def _first(engines: Sequence[Engine], quant: Quant, gpu: Gpu) -> Engine | None:
    return next((engine for engine in engines if runs_on(quant, engine, gpu)), None)


def _llama_cpp_only(fitter: Fitter) -> Fitter:
    pairs = [pair for pair in fitter.quants if "llama.cpp" in pair[0].engines]
    return Fitter(fitter.profile, fitter.workload, pairs, fitter.budget)
