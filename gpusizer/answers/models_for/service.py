"""models_for: the use case that answers which models a GPU or a machine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpusizer.answers.models_for.model_library import CandidateModel, ModelLibrary
from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.models_for.search import Question, Resolve, Runs, on_gpu, on_rig, row
from gpusizer.answers.models_for.tasks import task_of
from gpusizer.core.errors import GpusizerError, ModelUnreadable
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
    candidates, unread = _candidates(request, library or ModelLibrary(tuple), read, budget)
    question = Question(request.quants, request.workload, resolve, budget)
    running: list[Runs]
    if gpu is not None:
        running = list(on_gpu(candidates, gpu, boards, question))
    else:
        assert rig is not None
        running = list(on_rig(candidates, rig, question))
    running.sort(key=lambda runs: runs.place)
    shown = running[: request.top or None]
    rows = tuple(row(runs, gpu, boards, rig) for runs in shown)
    return ModelsFor(request, gpu, boards, rig, len(candidates), tuple(running), rows, unread)


def _where(request: ModelsRequest, catalogue: Catalogue) -> tuple[Gpu | None, int, Rig | None]:
    cards = OwnCards(catalogue, request.own_memory)
    if request.rig or request.ram_bytes:
        words = parse_rig(request.rig or request.gpu, request.ram_bytes)
        return None, 0, build_rig(words, cards, request.disk_bytes_per_second)
    gpu_request = parse_gpu_request(request.gpu)
    gpu = cards.find(gpu_request.name)
    split = asked_split(request.workload)
    by_degrees = None if split is None else -(-split.gpus // gpu.devices_per_board)
    return gpu, gpu_request.count or request.gpu_count or by_degrees or 1, None


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
