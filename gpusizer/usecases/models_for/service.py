"""models_for: the use case that answers which models a GPU or a machine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpusizer.core.errors import GpusizerError, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.division import asked_boards
from gpusizer.fit.machine import Machine, build_machine
from gpusizer.fit.machine_words import parse_rig
from gpusizer.gpus import Catalogue
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.gpus.own_cards import OwnCards
from gpusizer.hub.model_ref import ModelRef
from gpusizer.memory.engines import find_engine
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task, task_of
from gpusizer.usecases.models_for.live_use import UseNow, months_of, newcomers_for, use_now
from gpusizer.usecases.models_for.model_library import CandidateModel, ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.models_for.ordering import (
    families_in_order,
    running_on,
    use_of,
)
from gpusizer.usecases.requests.selection import asked_quants

ReadProfile = Callable[[str], tuple[ModelProfile, ModelRef]]
"""The profile of a model, and what its text names; raises ModelUnreadable and InvalidModelId."""

_RUN_BY_PEOPLE: frozenset[Task] = frozenset({"text", "vision", "image"})
_MOST_MONTHS = 36
"""On the Hub: models of before are run for what was built on them."""

Unread = tuple[tuple[str, GpusizerError], ...]


def models_for(
    request: ModelsRequest,
    catalogue: Catalogue,
    library: ModelLibrary | None,
    read: ReadProfile,
    budget: TimeBudget,
) -> ModelsFor:
    """The models that run on the GPU or rig asked about, of the library or of those named.

    Raises UnknownGpu, UnknownEngine and InvalidRequest, and LimitsExceeded once the budget is
    spent; a model that cannot be read is listed and passed over.
    """
    if request.workload.engine is not None:
        find_engine(request.workload.engine)
    machine, is_rig = _where(request, catalogue)
    library = library or ModelLibrary()
    candidates, unread = _candidates(request, library, read, budget)
    with budget.paused():
        stored = [] if request.models else library.candidates
        members = [candidate.member for candidate in (*stored, *candidates)]
        now = use_now(library.uses, members, library.trending, live=request.live)
    candidates, unusual = _people_run(candidates, request, now)
    candidates, license_unknown = _licensed(candidates, request.licenses)
    running = list(running_on(candidates, machine, request, budget))
    folded = request.fold and not request.models
    families = families_in_order(running, candidates, now, folded=folded)
    shown = families[: request.top or None]
    return ModelsFor(
        request=request,
        machine=machine,
        is_rig=is_rig,
        considered=len(candidates),
        families=families,
        rows=tuple(RunsOn.of(rank, family) for rank, family in enumerate(shown, start=1)),
        unread=unread,
        now=now,
        newcomers=newcomers_for(now, request.task, request.licenses),
        notes=(
            *request.about_machine,
            *now.notes,
            *unusual,
            *license_unknown,
            *(machine.notes if is_rig else machine.gpu.statements),
            *_disk(request, machine),
        ),
    )


def _where(request: ModelsRequest, catalogue: Catalogue) -> tuple[Machine, bool]:
    """The machine asked about, and whether it was described as one rather than as a GPU."""
    cards = OwnCards(catalogue, request.own_memory)
    if request.rig or request.ram_bytes:
        words = parse_rig(request.hardware, request.ram_bytes)
        speeds = request.disk_bytes_per_second, request.ram_bytes_per_second
        return build_machine(words, cards, *speeds), True
    named = parse_gpu_request(request.hardware)
    gpu = cards.find(named.name)
    return Machine.of(gpu, named.count or asked_boards(request.workload, gpu) or 1), False


def _disk(request: ModelsRequest, machine: Machine) -> tuple[Note, ...]:
    """What the answer makes of models that no memory of the machine holds."""
    known = machine.ram_bytes is not None and not machine.shares_memory
    if request.from_disk:
        return () if known else (Note("from_disk_needs_ram"),)
    return (Note("from_disk_left_out"),) if known else ()


def _candidates(
    request: ModelsRequest, library: ModelLibrary, read: ReadProfile, budget: TimeBudget
) -> tuple[Sequence[CandidateModel], Unread]:
    """The requested models, else all of the library, filtered by the requested task."""
    requested_models: list[CandidateModel] = []
    unread: list[tuple[str, GpusizerError]] = []
    for model in request.models:
        try:
            profile, ref = read(model)
            quants = asked_quants(request.quants, ref, profile)
            requested_models.append(replace(CandidateModel.of(profile), quants=quants))
        except ModelUnreadable as error:
            unread.append((model, error))
    with budget.paused():  # the first request profiles the library for all others
        candidates: Sequence[CandidateModel] = (
            requested_models if request.models else library.candidates
        )
    if request.task:
        candidates = [
            candidate for candidate in candidates if task_of(candidate.profile) == request.task
        ]
    return candidates, tuple(unread)


def _people_run(
    candidates: Sequence[CandidateModel], request: ModelsRequest, now: UseNow
) -> tuple[Sequence[CandidateModel], tuple[Note, ...]]:
    """The candidates that people run at home: those that write text or make pictures, of the last
    years; and how many others are left out. What is asked for by name or task is never."""
    if request.models or request.task:
        return candidates, ()
    kept = [
        candidate
        for candidate in candidates
        if task_of(candidate.profile) in _RUN_BY_PEOPLE
        and months_of(use_of(candidate.member.repo_id, now.uses).created, now.today) < _MOST_MONTHS
    ]
    left = len(candidates) - len(kept)
    notes = (Note("models_left_out", count=left, years=_MOST_MONTHS // 12),) if left else ()
    return kept, notes


def _licensed(
    candidates: Sequence[CandidateModel], licenses: Sequence[str]
) -> tuple[Sequence[CandidateModel], tuple[Note, ...]]:
    """The candidates under one of these licences; how many were left out without one, and which of
    the licences no candidate has."""
    if not licenses:
        return candidates, ()
    named = [
        ((candidate.profile.license or "unknown").lower(), candidate) for candidate in candidates
    ]
    passing = [candidate for name, candidate in named if name in licenses]
    unknown = 0 if "unknown" in licenses else sum(name == "unknown" for name, _ in named)
    notes = [Note("license_unknown", count=unknown)] if unknown else []
    held = {name for name, _ in named} | {"unknown"}
    unheld = [name for name in licenses if name not in held]
    if unheld:
        notes.append(Note("license_of_none", licenses=", ".join(unheld)))
    return passing, tuple(notes)
