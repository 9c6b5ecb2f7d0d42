"""Request, catalogue and candidates -> ModelsFor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpusizer.errors import GpusizerError, ModelUnreadable
from gpusizer.fit import asked_split
from gpusizer.gpu_request import parse_gpu_request
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.models_for.answer import ModelsFor
from gpusizer.models_for.find import Question, Resolve, Runs, on_gpu, on_rig, row
from gpusizer.models_for.request import ModelsRequest, parse_models_request
from gpusizer.models_for.shelf import Candidate, Shelf
from gpusizer.models_for.tasks import task_of
from gpusizer.profile import ModelProfile
from gpusizer.rig import Rig, build_rig, parse_rig

ReadProfile = Callable[[str], ModelProfile]
"""The profile of a model by its ID; raises ModelUnreadable and InvalidModelId."""

Unread = tuple[tuple[str, GpusizerError], ...]


def models_for(
    fields: Mapping[str, Any],
    catalogue: Catalogue,
    shelf: Shelf | None,
    read: ReadProfile,
    resolve: Resolve,
) -> ModelsFor:
    """What runs on the GPU or rig asked about, of the shelf or of the models named.

    Raises UnknownGpu and InvalidRequest; a model that cannot be read is listed and passed over.
    """
    request = parse_models_request(fields)
    gpu, boards, rig = _where(request, catalogue)
    candidates, unread = _candidates(request, shelf or Shelf(tuple), read)
    question = Question(request.asked.quants, request.asked.workload, resolve)
    found: list[Runs]
    if gpu is not None:
        found = list(on_gpu(candidates, gpu, boards, question))
    else:
        assert rig is not None
        found = list(on_rig(candidates, rig, question))
    found.sort(key=lambda runs: runs.place)
    shown = found[: request.asked.top or None]
    rows = tuple(row(runs, gpu, boards, rig) for runs in shown)
    return ModelsFor(
        request, gpu, boards, rig, len(candidates), tuple(found), rows, unread
    )  # fmt: skip


def _where(request: ModelsRequest, catalogue: Catalogue) -> tuple[Gpu | None, int, Rig | None]:
    if request.rig:
        return None, 0, build_rig(parse_rig(request.rig), catalogue)
    named = parse_gpu_request(request.gpu)
    gpu = catalogue.find(named.name)
    asked = asked_split(request.asked.workload)
    by_degrees = None if asked is None else -(-asked.gpus // gpu.devices_per_board)
    return gpu, named.count or request.asked.gpu_count or by_degrees or 1, None


def _candidates(
    request: ModelsRequest, shelf: Shelf, read: ReadProfile
) -> tuple[Sequence[Candidate], Unread]:
    """Those named, else all on the shelf; of the task asked for."""
    found: list[Candidate] = []
    unread: list[tuple[str, GpusizerError]] = []
    for model in request.models:
        try:
            found.append(Candidate.of(read(model)))
        except ModelUnreadable as error:
            unread.append((model, error))
    candidates: Sequence[Any] = found if request.models else shelf.candidates
    if request.task:
        candidates = [one for one in candidates if task_of(one.profile) == request.task]
    return candidates, tuple(unread)
