"""models_for: the use case that answers which models a GPU or a machine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpusizer.answers.models_for.live_use import newcomers_for, use_now
from gpusizer.answers.models_for.model_library import CandidateModel, ModelLibrary
from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.models_for.ordering import families_in_order
from gpusizer.answers.models_for.search import Question, Resolve, Runs, on_gpu, on_rig, row
from gpusizer.answers.models_for.tasks import task_of
from gpusizer.core.errors import GpusizerError, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.fit import asked_split
from gpusizer.fit.mixed_gpus import Rig, build_rig, parse_rig
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.gpus.own_cards import OwnCards
from gpusizer.model.profile import ModelProfile

ReadProfile = Callable[[str], ModelProfile]
"""The profile of a model by its ID; raises ModelUnreadable and InvalidModelId."""

Unread = tuple[tuple[str, GpusizerError], ...]


def models_for(
    fields: Mapping[str, Any],
    catalogue: Catalogue,
    library: ModelLibrary | None,
    read: ReadProfile,
    resolve: Resolve,
    budget: TimeBudget,
) -> ModelsFor:
    """The models that run on the GPU or rig asked about, of the library or of those named.

    Raises UnknownGpu and InvalidRequest, and LimitsExceeded once the budget is spent; a model that
    cannot be read is listed and passed over.
    """
    request = ModelsRequest.from_fields(fields)
    gpu, boards, rig = _where(request, catalogue)
    library = library or ModelLibrary(tuple)
    candidates, unread = _candidates(request, library, read, budget)
    with budget.paused():
        stored = [] if request.models else library.candidates
        members = [candidate.member for candidate in (*stored, *candidates)]
        now = use_now(library.uses, members, library.trending, live=request.live)
    candidates, license_unknown = _licensed(candidates, request.licenses)
    question = Question(request.quants, request.workload, resolve, budget)
    running: list[Runs]
    if gpu is not None:
        running = list(on_gpu(candidates, gpu, boards, question))
    else:
        assert rig is not None
        running = list(on_rig(candidates, rig, question, from_disk=request.from_disk))
    families = families_in_order(
        running,
        candidates,
        now.uses,
        now.today,
        now.trending,
        folded=request.fold and not request.models,
    )
    shown = families[: request.top or None]
    return ModelsFor(
        request=request,
        gpu=gpu,
        boards=boards,
        rig=rig,
        considered=len(candidates),
        families=families,
        rows=tuple(row(family.head, gpu, boards, rig) for family in shown),
        unread=unread,
        now=now,
        newcomers=newcomers_for(now, request.task, request.licenses),
        notes=(*now.notes, *license_unknown, *_statements(gpu, rig), *_disk(request, rig)),
    )


def _where(request: ModelsRequest, catalogue: Catalogue) -> tuple[Gpu | None, int, Rig | None]:
    cards = OwnCards(catalogue, request.own_memory)
    if request.rig or request.ram_bytes:
        words = parse_rig(request.hardware, request.ram_bytes)
        return None, 0, build_rig(words, cards, request.disk_bytes_per_second)
    gpu_request = parse_gpu_request(request.hardware)
    gpu = cards.find(gpu_request.name)
    split = asked_split(request.workload)
    by_degrees = None if split is None else -(-split.gpus // gpu.devices_per_board)
    return gpu, gpu_request.count or by_degrees or 1, None


def _statements(gpu: Gpu | None, rig: Rig | None) -> tuple[Note, ...]:
    """What the reader must know about the GPU or the rig."""
    if rig is not None:
        return rig.notes
    return () if gpu is None else gpu.statements


def _disk(request: ModelsRequest, rig: Rig | None) -> tuple[Note, ...]:
    """What the answer makes of models that no memory of the machine holds."""
    known = rig is not None and rig.ram_bytes is not None
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
            requested_models.append(CandidateModel.of(read(model)))
        except ModelUnreadable as error:
            unread.append((model, error))
    with budget.paused():  # the first request profiles the library for all others
        candidates: Sequence[Any] = requested_models if request.models else library.candidates
    if request.task:
        candidates = [
            candidate for candidate in candidates if task_of(candidate.profile) == request.task
        ]
    return candidates, tuple(unread)


def _licensed(
    candidates: Sequence[CandidateModel], licenses: Sequence[str]
) -> tuple[Sequence[CandidateModel], tuple[Note, ...]]:
    """The candidates under one of these licences, and how many were left out without one."""
    if not licenses:
        return candidates, ()
    named = [
        ((candidate.profile.license or "unknown").lower(), candidate) for candidate in candidates
    ]
    passing = [candidate for name, candidate in named if name in licenses]
    unknown = 0 if "unknown" in licenses else sum(name == "unknown" for name, _ in named)
    return passing, (Note("license_unknown", count=unknown),) if unknown else ()
