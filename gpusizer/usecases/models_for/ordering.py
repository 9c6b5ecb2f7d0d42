"""Models that run on a machine, their families, and the order of these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import choose
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import one_user_rate
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task, task_of
from gpusizer.usecases.models_for.families import KINDS, Member, fold
from gpusizer.usecases.models_for.live_use import (
    UNKNOWN_USE,
    ModelUse,
    UseNow,
    Uses,
    age_level,
    total,
    use_level,
)
from gpusizer.usecases.models_for.model_library import CandidateModel
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.resolution import resolve_workload
from gpusizer.usecases.requests.selection import select_quants


@dataclass(frozen=True, slots=True)
class FamilyUse:
    """Age and use of a family, over its stored repositories."""

    created: date | None  # day of its newest original; of the oldest copy if only copies are stored
    downloads: int | None  # of all together, as far as known
    likes: int | None  # of all together, as far as known
    trending_place: int | None  # best place of one of its names in the Hub's listing, or None

    @classmethod
    def from_members(
        cls, members: Sequence[Member], uses: Uses, trending_place: int | None = None
    ) -> FamilyUse:
        """Return the sums and dates of the members."""
        known = [(member, use_of(member.repo_id, uses)) for member in members]
        originals = [use.created for member, use in known if member.kind != "quantized"]
        copies = [use.created for member, use in known if member.kind == "quantized"]
        created = max(filter(None, originals), default=None)
        if created is None:
            created = min(filter(None, copies), default=None)
        return cls(
            created=created,
            downloads=total(use.downloads for _, use in known),
            likes=total(use.likes for _, use in known),
            trending_place=trending_place,
        )

    def place(self, today: date) -> tuple[int, int]:
        """Return the levels of age and use on the day of the figures."""
        return (
            age_level(self.created, today),
            use_level(self.downloads, self.likes, self.trending_place),
        )


@dataclass(frozen=True, slots=True)
class Family:
    """A model at one size that runs: the repository to show, and its others that also run."""

    name: str  # its stem, such as "qwen3-30b-a3b"; several families may share one
    head: Runs
    copies: tuple[Runs, ...]
    use: FamilyUse

    @property
    def members(self) -> tuple[Runs, ...]:
        """The head, then the copies."""
        return (self.head, *self.copies)


def use_of(repo_id: str, uses: Uses) -> ModelUse:
    """Return the figures of a repository, UNKNOWN_USE if it has none."""
    return uses.get(repo_id.casefold(), UNKNOWN_USE)


def families_in_order(
    running: Iterable[Runs],
    candidates: Iterable[CandidateModel],
    now: UseNow,
    *,
    folded: bool,
) -> tuple[Family, ...]:
    """Return the families of the models that run, best first (`ORDER`).

    `candidates` are all considered models: one that does not run still counts for the use of its
    family. Without `folded` each repository is a family of its own.
    """
    # By identity: two revisions of one repository may have been named.
    runs_of = {id(runs.candidate): runs for runs in running}
    if folded:
        groups = fold(candidates, lambda candidate: candidate.member)
    else:
        groups = [[candidate] for candidate in candidates]
    families = []
    for group in groups:
        that_run = [runs_of[id(item)] for item in group if id(item) in runs_of]
        if that_run:
            stem = group[0].member.stem
            head, *copies = sorted(that_run, key=lambda runs: _head_place(runs, now.uses))
            use = FamilyUse.from_members(
                [item.member for item in group], now.uses, now.trending.get(stem)
            )
            families.append(Family(stem, head, tuple(copies), use))
    return tuple(sorted(families, key=lambda family: family_key(family, now.today)))


def family_key(family: Family, today: date) -> tuple[int, ...]:
    """Return the sort key of a family by `ORDER`; ties keep the fixed order of `fold`."""
    created = family.use.created
    return (
        _level(family.head),
        *family.use.place(today),
        -family.head.profile.parameters,
        -(created.toordinal() if created else 0),
    )


def _level(runs: Runs) -> int:
    # A part in system memory is no worse at a likely speed at which people read.
    if runs.verdict is Verdict.OFFLOAD:
        rate = one_user_rate(runs.study, runs.config)
        if rate is not None and rate.likely >= READING_SPEED:
            return Verdict.FITS.place
    return runs.verdict.place


def _head_place(runs: Runs, uses: Uses) -> tuple[int, int, int, str]:
    # Best verdict, most usual kind, most downloads, name.
    member = runs.candidate.member
    downloads = use_of(member.repo_id, uses).downloads or 0
    kind = KINDS.index(member.kind)
    return (runs.verdict.place, kind, -downloads, member.repo_id.casefold())


# on the GPU, just so, with experts or with layers in system memory, on the CPU alone, from disk
How = Literal["gpu", "tight", "experts", "part", "cpu", "disk"]
_SURELY_LOADED = (
    0.97  # share of the nominal weights: layouts round, and engines leave out small tensors
)


@dataclass(frozen=True, slots=True)
class Runs:
    """A model that runs on a machine, and its run config."""

    candidate: CandidateModel
    task: Task
    study: Study
    config: RunConfig

    @property
    def profile(self) -> ModelProfile:
        """Profile of the model."""
        return self.study.profile

    @property
    def verdict(self) -> Verdict:
        """Verdict by the location of its weights."""
        return self.config.verdict

    @property
    def how(self) -> How:
        """Kind of run by the location of its weights."""
        if self.verdict is Verdict.FROM_DISK:
            return "disk"
        if not self.config.machine.gpus:
            return "cpu"
        if self.verdict.all_on_gpu:
            return "tight" if self.verdict is Verdict.TIGHT else "gpu"
        dealt = self.config.arranged.how if self.config.arranged else None
        if dealt is not None and not dealt.gpu_layers:
            return "cpu"
        return "experts" if dealt is not None and dealt.cpu_experts else "part"

    @property
    def most_tokens_per_second(self) -> float | None:
        """Upper limit of the speed when reading from the disk, or None without such reading."""
        arranged = self.config.arranged
        if arranged is None or arranged.disk is None:
            return None
        return arranged.disk.most_tokens_per_second


def running_on(
    candidates: Iterable[CandidateModel],
    machine: Machine,
    request: ModelsRequest,
    budget: TimeBudget,
) -> Iterator[Runs]:
    """Yield models that run on a machine, each by the run config that all answers prefer.

    Layers may be in system memory only if its size is known. Quantizations whose weights alone
    exceed the memory are skipped before any estimate. Models that fit no memory, so that llama.cpp
    reads them from the disk for each token, are left out unless requested, because nearly every
    model runs that way. All models share the time of one answer.
    """
    memory = sum(gpu.device_free_bytes for gpu in machine.gpus) + (machine.free_ram_bytes or 0)
    reads_disk = request.from_disk and machine.ram_bytes is not None
    for candidate in candidates:
        study = _study(candidate, math.inf if reads_disk else memory, request, budget)
        if study is None:
            continue
        config = choose(study, [machine], whole=machine.ram_bytes is None)
        if config is not None and (
            config.verdict.in_memory or (reads_disk and config.verdict is Verdict.FROM_DISK)
        ):
            yield Runs(candidate, task_of(candidate.profile), study, config)


def _study(
    candidate: CandidateModel, memory: float, request: ModelsRequest, budget: TimeBudget
) -> Study | None:
    # Quantizations with weights below `memory` bytes, or None without any. None also for a model
    # whose limit is below a requested context.
    profile, requested = candidate.profile, request.workload
    try:
        workload, _ = resolve_workload(requested, profile)
    except InvalidRequest:  # vLLM does not start with a longer context than the model's
        return None
    if workload.context < requested.context != DEFAULT_CONTEXT:
        return None
    quants = candidate.quants or request.quants
    requirements = request.requirements(quants)
    rankable = select_quants(quants, profile, workload.engine, requirements).rankable
    affordable = [pair for pair in rankable if _least_bytes(candidate, *pair) <= memory]
    return Study(profile, workload, affordable, budget, requirements) if affordable else None


def _least_bytes(candidate: CandidateModel, quant: Quant, native: bool) -> float:
    # A lower bound of the bytes of weights on GPUs, from the nominal bits of a quantization.
    if native:
        return candidate.core_bytes * _SURELY_LOADED
    return candidate.core_parameters * quant.bits / 8 * _SURELY_LOADED
