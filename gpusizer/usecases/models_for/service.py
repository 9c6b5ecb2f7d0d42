"""Use case of the question which models a GPU or a machine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

from gpusizer.core.errors import GpusizerError, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.division import asked_boards
from gpusizer.fit.machine import Machine, build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.gpus import Catalogue
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.hub.model_ref import ModelRef
from gpusizer.memory.engines import find_engine
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task, task_of
from gpusizer.quality.boards import LEADING, MAKERS, SECOND, ScoreBoards, WorkPurpose
from gpusizer.usecases.models_for.by_purpose import TASKS_OF, Scored, credited, ordered_for
from gpusizer.usecases.models_for.hub_board import with_hub_board
from gpusizer.usecases.models_for.live_use import UseNow, months_of, newcomers_for, use_now
from gpusizer.usecases.models_for.model_library import CandidateModel, ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.models_for.ordering import (
    Family,
    families_in_order,
    running_on,
    use_of,
)
from gpusizer.usecases.models_for.picks import Pickable, picks, worth_picking
from gpusizer.usecases.requests.selection import asked_quants

# Reads the profile of a model, and the reference in its text. Raises ModelUnreadable and
# InvalidModelId.
ReadProfile = Callable[[str], tuple[ModelProfile, ModelRef]]

_RUN_BY_PEOPLE: frozenset[Task] = frozenset({"text", "vision", "image"})
_MOST_MONTHS = 36  # on the Hub: older models mostly run for work that was built on them

Unread = tuple[tuple[str, GpusizerError], ...]


def models_for(
    request: ModelsRequest,
    catalogue: Catalogue,
    library: ModelLibrary | None,
    read: ReadProfile,
    budget: TimeBudget,
) -> ModelsFor:
    """Return the models that run on the requested GPU or rig, of the library or by name.

    Raises UnknownGpu, UnknownEngine and InvalidRequest, and LimitsExceeded at the end of the
    budget. An unreadable model is listed and skipped.
    """
    if request.workload.engine is not None:
        find_engine(request.workload.engine)
    machine, is_rig = _where(request, catalogue)
    library = library or ModelLibrary()
    boards = ScoreBoards((), ()) if request.work is None else library.boards
    candidates, unread = _candidates(request, library, read, budget)
    with budget.paused():
        stored = [] if request.models else library.candidates
        members = [candidate.member for candidate in (*stored, *candidates)]
        now = use_now(library.uses, members, library.trending, live=request.live)
        # Where the listing failed, the Hub is away, and is not waited for again.
        boards, hub_notes = with_hub_board(
            boards, request.work, library.leaderboards if now.live else None
        )
    if request.work is not None:
        tasks = TASKS_OF[request.work]
        candidates = [item for item in candidates if task_of(item.profile) in tasks]
    candidates, unusual = _people_run(candidates, request, now)
    candidates, license_unknown = _licensed(candidates, request.licenses)
    running = list(running_on(candidates, machine, request, budget))
    folded = request.fold and not request.models
    families = families_in_order(running, candidates, now, folded=folded)
    families, scored = _by_purpose(families, request, boards, now)
    rows = _rows(families[: request.top or None], scored)
    return ModelsFor(
        request=request,
        machine=machine,
        is_rig=is_rig,
        considered=len(candidates),
        families=families,
        rows=rows,
        boards=boards,
        picked=_picked(families, scored, rows),
        unread=unread,
        now=now,
        newcomers=newcomers_for(now, request.task, request.licenses),
        notes=(
            *request.about_machine,
            *now.notes,
            *_about_boards(request.work, boards),
            *hub_notes,
            *unusual,
            *license_unknown,
            *(machine.notes if is_rig else machine.gpu.statements),
            *_disk(request, machine),
        ),
    )


def _by_purpose(
    families: tuple[Family, ...], request: ModelsRequest, boards: ScoreBoards, now: UseNow
) -> tuple[tuple[Family, ...], Sequence[Scored]]:
    # With the scores of their heads, () if no purpose is requested.
    if request.work is None:
        return families, ()
    found = ordered_for(families, credited(boards, request.work), now.today)
    return tuple(family for family, _ in found), [scored for _, scored in found]


def _rows(shown: Sequence[Family], scored: Sequence[Scored]) -> tuple[RunsOn, ...]:
    pairs = zip_longest(shown, scored[: len(shown)])
    return tuple(RunsOn.from_family(rank, *pair) for rank, pair in enumerate(pairs, start=1))


def _picked(
    families: Sequence[Family], scored: Sequence[Scored], rows: Sequence[RunsOn]
) -> tuple[tuple[RunsOn, Note], ...]:
    # With reasons, whether or not their rows are shown.
    places = worth_picking(scored)
    found = [
        rows[at] if at < len(rows) else RunsOn.from_family(at + 1, families[at], scored[at])
        for at in places
    ]
    models = [
        Pickable(scored[at], row.max_context, row.used_bytes, row.family.use.created)
        for at, row in zip(places, found, strict=True)
    ]
    row_of = {id(model): row for model, row in zip(models, found, strict=True)}
    return tuple((row_of[id(model)], why) for model, why in picks(models))


def _about_boards(purpose: WorkPurpose | None, boards: ScoreBoards) -> tuple[Note, ...]:
    # Source, day and terms of the shown scores.
    if purpose is None:
        return ()
    shown = [boards.board(of.get(purpose)) for of in (LEADING, SECOND, MAKERS)]
    notes = [
        Note(
            "scores_of_makers" if board.by_maker else "scores_of",
            board=board.board,
            date=board.date.isoformat(),
            terms=board.terms,
        )
        for board in shown
        if board is not None
    ]
    return (*notes, Note("scores_full_precision")) if notes else (Note("scores_none"),)


def _where(request: ModelsRequest, catalogue: Catalogue) -> tuple[Machine, bool]:
    # The machine, and whether it was described as one rather than as a GPU.
    cards = UserGpus(catalogue, request.own_memory)
    if request.rig or request.ram_bytes:
        words = parse_rig(request.hardware, request.ram_bytes)
        speeds = request.disk_bytes_per_second, request.ram_bytes_per_second
        return build_machine(words, cards, *speeds), True
    named = parse_gpu_request(request.hardware)
    gpu = cards.find(named.name)
    return Machine.with_boards(gpu, named.count or asked_boards(request.workload, gpu) or 1), False


def _disk(request: ModelsRequest, machine: Machine) -> tuple[Note, ...]:
    # Notes on models that no memory of the machine holds.
    known = machine.ram_bytes is not None and not machine.shares_memory
    if request.from_disk:
        return () if known else (Note("from_disk_needs_ram"),)
    return (Note("from_disk_left_out"),) if known else ()


def _candidates(
    request: ModelsRequest, library: ModelLibrary, read: ReadProfile, budget: TimeBudget
) -> tuple[Sequence[CandidateModel], Unread]:
    # The requested models, else all of the library, filtered by the requested task.
    requested_models: list[CandidateModel] = []
    unread: list[tuple[str, GpusizerError]] = []
    for model in request.models:
        try:
            profile, ref = read(model)
            quants = asked_quants(request.quants, ref, profile)
            requested_models.append(replace(CandidateModel.from_profile(profile), quants=quants))
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
    # Models that people run at home: recent ones that write text or make pictures, and a note on
    # the others. Models requested by name or task are always kept.
    asked_for = request.work is not None and not TASKS_OF[request.work] <= _RUN_BY_PEOPLE
    if request.models or request.task or asked_for or request.work == "pictures":
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
    # Notes state how many were left out without a licence, and licences that no candidate has.
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
