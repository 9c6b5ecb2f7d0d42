"""Which of many models run on one kind of GPU or one machine, and at what width.

Of every model the most faithful quantization that people use is taken that surely fits, else one
that is tight. Widths whose bare weights exceed the memory are passed over before anything is
estimated, and what only shown rows need is computed for them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpusizer.engines import Engine
from gpusizer.fit import Fit, Fitter, Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory import MemoryEstimate
from gpusizer.models_for.shelf import Candidate
from gpusizer.models_for.tasks import Task, task_of
from gpusizer.notes import Note
from gpusizer.profile import ModelProfile
from gpusizer.quants import Quant
from gpusizer.rig.machine import Rig
from gpusizer.rig.plan import RigPlan, plan_rig
from gpusizer.selection import select_quants
from gpusizer.speed import Rate, decode_rate, prefill_rate
from gpusizer.support import runs_on
from gpusizer.workload import DEFAULT_CONTEXT, Workload

Resolve = Callable[[Workload, ModelProfile], tuple[Workload, tuple[Note, ...]]]
"""The workload within what a model allows."""

_SURELY_LOADED = 0.97  # of the bare weights: layouts round, engines drop a norm here and there


@dataclass(frozen=True, slots=True)
class Runs:
    """A model that runs, before the costly questions.

    Attributes:
        fitter: the model and the workload within its limits.
        estimate: on one kind of GPU; None on a rig.
        plan: on a rig.
    """

    task: Task
    fitter: Fitter
    verdict: Verdict
    estimate: MemoryEstimate | None
    plan: RigPlan | None

    @property
    def profile(self) -> ModelProfile:
        return self.fitter.profile

    @property
    def place(self) -> tuple[int, int, str]:
        """What surely fits first, then what is tight, then what needs system memory; the most
        parameters first, equal ones by name."""
        profile = self.profile
        return (self.verdict.place, -profile.parameters, profile.repo_id.casefold())


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A row of the answer: a model that runs, with what fits beside it and how fast it is."""

    runs: Runs
    fit: Fit | None
    decode: Rate | None
    prefill: Rate | None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every model: quantizations and workload, both as requested."""

    quants: tuple[str, ...]
    workload: Workload
    resolve: Resolve


def on_gpu(
    candidates: Iterable[Candidate], gpu: Gpu, boards: int, question: Question
) -> Iterator[Runs]:
    """Models that run on so many boards."""
    memory = gpu.device_memory_bytes * gpu.devices_per_board * boards
    for candidate in candidates:
        fitter = _fitter(candidate, memory, question)
        found = None if fitter is None else _best(fitter, gpu, boards)
        if fitter is not None and found is not None:
            verdict, estimate = found
            yield Runs(task_of(candidate.profile), fitter, verdict, estimate, None)


def on_rig(candidates: Iterable[Candidate], rig: Rig, question: Question) -> Iterator[Runs]:
    """Models that run on a machine; layers in system memory only where its size is known."""
    memory = sum(gpu.device_memory_bytes for gpu in rig.gpus) + (rig.free_ram_bytes or 0)
    for candidate in candidates:
        fitter = _fitter(candidate, memory, question)
        if fitter is None or candidate.profile.architecture is None:
            continue
        fitter = _llama_cpp_only(fitter)
        if not fitter.quants:
            continue
        plan = plan_rig(fitter, rig, explore=False)
        unsaid = plan.verdict is Verdict.OFFLOAD and rig.ram_bytes is None
        if plan.verdict is not Verdict.DOES_NOT_FIT and not unsaid:
            yield Runs(task_of(candidate.profile), fitter, plan.verdict, None, plan)


def row(runs: Runs, gpu: Gpu | None, boards: int, rig: Rig | None) -> RunsOn:
    """The answers that only shown rows need."""
    if runs.estimate is None or gpu is None:
        assert rig is not None
        plan = plan_rig(runs.fitter, rig)
        shown = Runs(runs.task, runs.fitter, runs.verdict, None, plan)
        return RunsOn(shown, None, plan.decode, None)
    fitter, estimate = runs.fitter, runs.estimate
    return RunsOn(
        runs,
        fitter.fit(gpu, boards, estimate),
        decode_rate(fitter.profile, estimate, fitter.workload, gpu),
        prefill_rate(fitter.profile, estimate, fitter.workload, gpu),
    )


def _fitter(candidate: Candidate, memory: int, question: Question) -> Fitter | None:
    """The quantizations worth a try, None where there are none.

    None too where the model's limit is below a context that was asked for.
    """
    profile, asked = candidate.profile, question.workload
    workload, _ = question.resolve(asked, profile)
    if workload.context < asked.context != DEFAULT_CONTEXT:
        return None
    rankable = select_quants(question.quants, profile, workload.engine).rankable
    worth = [pair for pair in rankable if _least_bytes(candidate, *pair) <= memory]
    return Fitter(profile, workload, worth) if worth else None


def _least_bytes(candidate: Candidate, quant: Quant, native: bool) -> float:
    """Less than the weights of a quantization take on GPUs, from its nominal bits alone."""
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
    return Fitter(fitter.profile, fitter.workload, pairs)
