"""Finds which models run on a machine, each by the way that every other answer prefers.

Quantizations whose weights alone exceed the memory are skipped before any estimate, and figures
that only shown rows need are computed for those rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gpusizer.answers.models_for.model_library import CandidateModel
from gpusizer.answers.selection import select_quants
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.demands import Demands
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import choose
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import DEFAULT_CONTEXT, Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task, task_of

How = Literal["gpu", "tight", "experts", "part", "cpu", "disk"]
"""On the GPU, just so, with experts or with layers in system memory, on the CPU alone, from the
disk."""
Resolve = Callable[[Workload, ModelProfile], tuple[Workload, tuple[Note, ...]]]
"""The workload within what a model allows."""

_SURELY_LOADED = (
    0.97  # share of the nominal weights: layouts round, and engines leave out small tensors
)


@dataclass(frozen=True, slots=True)
class Runs:
    """A model that runs on a machine, and how."""

    candidate: CandidateModel
    task: Task
    study: Study
    way: Way

    @property
    def profile(self) -> ModelProfile:
        """The model."""
        return self.study.profile

    @property
    def verdict(self) -> Verdict:
        """Where its weights are."""
        return self.way.verdict

    @property
    def how(self) -> How:
        """What it runs on, by where its weights are."""
        if self.verdict is Verdict.FROM_DISK:
            return "disk"
        if self.verdict.all_on_gpu:
            return "tight" if self.verdict is Verdict.TIGHT else "gpu"
        dealt = self.way.arranged.how if self.way.arranged else None
        if dealt is not None and not dealt.gpu_layers:
            return "cpu"
        return "experts" if dealt is not None and dealt.cpu_experts else "part"

    @property
    def most_tokens_per_second(self) -> float | None:
        """What reading from the disk allows at most; None where nothing is read from there."""
        arranged = self.way.arranged
        if arranged is None or arranged.disk is None:
            return None
        return arranged.disk.most_tokens_per_second


@dataclass(frozen=True, slots=True)
class Search:
    """What is asked of every model: quantizations and workload, both as requested, and what is
    demanded of a way where these quantizations are wanted.

    All models share the time of one answer. With `from_disk` also models are found that fit no
    memory and that llama.cpp reads from the disk for each token; else they are left out, because
    nearly every model runs that way.
    """

    quants: tuple[str, ...]
    demands: Callable[[Sequence[str]], Demands]
    workload: Workload
    resolve: Resolve
    budget: TimeBudget
    from_disk: bool = False


def running_on(
    candidates: Iterable[CandidateModel], machine: Machine, search: Search
) -> Iterator[Runs]:
    """Models that run on a machine; layers in system memory only where its size is known."""
    memory = sum(gpu.device_free_bytes for gpu in machine.gpus) + (machine.free_ram_bytes or 0)
    reads_disk = search.from_disk and machine.ram_bytes is not None
    for candidate in candidates:
        study = _study(candidate, math.inf if reads_disk else memory, search)
        if study is None:
            continue
        way = choose(study, [machine], whole=machine.ram_bytes is None)
        if way is not None and (
            way.verdict.in_memory or (reads_disk and way.verdict is Verdict.FROM_DISK)
        ):
            yield Runs(candidate, task_of(candidate.profile), study, way)


def _study(candidate: CandidateModel, memory: float, search: Search) -> Study | None:
    """The study of the quantizations whose weights are below `memory` bytes, None where there are
    none.

    None too where the model's limit is below a context that was asked for.
    """
    profile, requested = candidate.profile, search.workload
    try:
        workload, _ = search.resolve(requested, profile)
    except InvalidRequest:  # vLLM does not start with a longer context than the model's
        return None
    if workload.context < requested.context != DEFAULT_CONTEXT:
        return None
    quants = candidate.quants or search.quants
    demands = search.demands(quants)
    rankable = select_quants(quants, profile, workload.engine, demands).rankable
    affordable = [pair for pair in rankable if _least_bytes(candidate, *pair) <= memory]
    return Study(profile, workload, affordable, search.budget, demands) if affordable else None


def _least_bytes(candidate: CandidateModel, quant: Quant, native: bool) -> float:
    """A lower bound of the bytes of weights on GPUs, from the nominal bits of a quantization."""
    if native:
        return candidate.core_bytes * _SURELY_LOADED
    return candidate.core_parameters * quant.bits / 8 * _SURELY_LOADED
