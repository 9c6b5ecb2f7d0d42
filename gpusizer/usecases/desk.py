"""desk: the use case that places several models on one machine, or finds the machine for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.conclusion.desk import conclude_desk
from gpusizer.advice.desk.changes import (
    Change,
    ChangeSearch,
    all_can_stay,
    place_all,
    smallest_change,
)
from gpusizer.advice.desk.choices import MOST_DEVICES, Choices, choices_on
from gpusizer.advice.desk.memories import DeskDevice, DeskMemory, devices_of, system_memory_of
from gpusizer.advice.desk.placing import Placing
from gpusizer.advice.desk.seating import DeskServer, servers_of
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.core.validation import fail
from gpusizer.fit.division import max_boards
from gpusizer.fit.filters import most_boards, narrowed
from gpusizer.fit.machine import VULKAN_NAME, Machine, build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.fit.recommendation import can_be_bought
from gpusizer.fit.run_configs import least_bytes
from gpusizer.fit.study import QuantPair, Study
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts, plan_costs
from gpusizer.gpus.costs.plan import LoadTimes, load_times
from gpusizer.gpus.on_offer import ended_support
from gpusizer.gpus.purchase import current_day
from gpusizer.gpus.user_gpus import UserGpus, with_used_memory
from gpusizer.launch.desk_files import DeskFiles, desk_files
from gpusizer.memory.engines.llama_layers import DEFAULT_UBATCH
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task, kind_of, task_of
from gpusizer.usecases.near_models import suggesting_models
from gpusizer.usecases.requests.desk_request import DeskLine, DeskRequest, Role
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request_fields import unnamed_notes
from gpusizer.usecases.requests.selection import every_quant
from gpusizer.usecases.sizer import Sizer

_BOARDS = (1, 2, 4)
_LEAST_BITS = 3  # of a quantization that makes room: below it less context or another GPU is better
_ROLE_OF: dict[Task, Role] = {
    "text": "chat",
    "vision": "chat",
    "embedding": "embeddings",
    "speech": "speech",
    "image": "pictures",
    "other": "chat",
}
_KINDS: dict[Role, tuple[str, ...]] = {
    "chat": ("decoder", "encoder_decoder"),
    "embeddings": ("decoder", "encoder", "encoder_decoder", "tower"),
    "reranking": ("decoder", "encoder"),
    "speech": ("speech", "decoder", "tower"),
    "pictures": ("pipeline",),
}
"""Kinds of models that can play a role."""


@dataclass(frozen=True, slots=True)
class DeskModel:
    """A model of a desk, what it may take, and where it is loaded (None: nowhere)."""

    role: Role
    must_stay: bool
    question: Question
    choices: Choices
    server: DeskServer | None
    loading: LoadTimes | None

    @property
    def profile(self) -> ModelProfile:
        return self.question.profile

    @property
    def state(self) -> str:
        """Whether it is "resident", "on_demand" or "left_out"."""
        if self.server is None:
            return "left_out"
        return "resident" if self.server.stays else "on_demand"

    @property
    def has_place(self) -> bool:
        """Whether the machine holds it at least alone."""
        return bool(self.choices.all)


@dataclass(frozen=True, slots=True)
class Desk:
    """The answer: models in the order of the request, on a machine that is named or found.

    Attributes:
        costs: what the machine's boards cost, of one that was looked for.
        changes: the smallest change that lets all models stay, as far as it was looked for; None
            where they do.
    """

    request: DeskRequest
    machine: Machine
    models: tuple[DeskModel, ...]
    placing: Placing
    costs: PlanCosts | None
    changes: ChangeSearch | None
    files: DeskFiles
    conclusion: Conclusion
    notes: tuple[Note, ...]

    @property
    def change(self) -> Change | None:
        """The smallest change that lets all models stay, None where they do or none is known."""
        return None if self.changes is None else self.changes.change

    @property
    def devices(self) -> tuple[DeskDevice, ...]:
        """The devices of the machine, with what models that stay hold of each."""
        return devices_of(self.machine, [model.server for model in self.models])

    @property
    def system_memory(self) -> DeskMemory | None:
        """System memory, with what models that stay hold of it; None where none is stated."""
        return system_memory_of(self.machine, [model.server for model in self.models])

    @property
    def in_starting_order(self) -> tuple[DeskModel, ...]:
        """The models as their servers start; then those that wait, and those without a place."""
        return tuple(sorted(self.models, key=_start_place))


def _start_place(model: DeskModel) -> tuple[bool, bool, int]:
    start = model.server.start if model.server else None
    return model.server is None, start is None, start or 0


@dataclass(frozen=True, slots=True)
class _Placed:
    # Models on a machine; of one that was looked for its costs, and whether the search on a
    # cheaper one was cut short.
    machine: Machine
    choices: Sequence[Choices]
    placing: Placing
    costs: PlanCosts | None = None
    is_cut_short: bool = False


def desk(sizer: Sizer, request: DeskRequest) -> Desk:
    """Place the models of a request on its machine, or on the cheapest that keeps all loaded.

    Raises any GpusizerError: bad lines, unknown GPUs, unreadable repositories, and LimitsExceeded
    where the answer takes too long.
    """
    lines, budget = request.lines, sizer.new_budget()
    machine = _machine(sizer, request) if request.gpu else None
    # Equal lines are one question, which is worked out once.
    different = dict(zip(request.models, lines, strict=True))
    questions = {text: _read(sizer, line, budget) for text, line in different.items()}
    known = {text: _role(line, questions[text]) for text, line in different.items()}
    studied = {text: _study(known[text], question) for text, question in questions.items()}
    read = [questions[text] for text in request.models]
    roles = [known[text] for text in request.models]
    studies = [studied[text] for text in request.models]
    must_stay = [line.must_stay for line in lines]
    if machine is None:
        placed = _bought(sizer, request, studies, must_stay)
    else:
        placed = _named(machine, studies, must_stay)
    machine, choices, placing = placed.machine, placed.choices, placed.placing
    servers = servers_of(machine, choices, placing)
    models = tuple(
        DeskModel(*facts, None if facts[-1] is None else _loading(facts[-1], request))
        for facts in zip(roles, must_stay, read, choices, servers, strict=True)
    )
    changes = None if placing.all_stay else _changes(machine, choices)
    files = desk_files(machine, [(m.profile, m.role, m.server) for m in models])
    notes = [
        *request.about_machine,
        *(() if request.gpu else unnamed_notes(request.own_memory)),
        *_about_machine(machine, placing, servers),
        *_about_models(models),
        *files.notes,
    ]
    if not placing.is_proven:
        notes.append(Note("desk_not_proven"))
    if placed.is_cut_short:
        notes.append(Note("desk_cheaper_unknown"))
    states = [(it.profile, it.state if it.has_place else "no_place") for it in models]
    conclusion = conclude_desk(machine, states, changes, placed.costs)
    return Desk(
        request=request,
        machine=machine,
        models=models,
        placing=placing,
        costs=placed.costs,
        changes=changes,
        files=files,
        conclusion=conclusion,
        notes=tuple(dict.fromkeys(notes)),
    )


def _machine(sizer: Sizer, request: DeskRequest) -> Machine:
    cards = UserGpus(sizer.catalogue, request.own_memory)
    words = parse_rig(request.gpu, request.ram_bytes)
    machine = build_machine(
        words, cards, request.disk_bytes_per_second, request.ram_bytes_per_second
    )
    if len(machine.gpus) > MOST_DEVICES:
        raise fail("gpu", request.gpu, "out_of_range", low=0, high=MOST_DEVICES)
    return machine


@suggesting_models()
def _read(sizer: Sizer, line: DeskLine, budget: TimeBudget) -> Question:
    ref = replace(line.request.ref(sizer.parse), reads_card=False)
    with budget.paused():
        snapshot = sizer.fetch(ref)
    return Question.from_request(line.request, ref, snapshot, sizer.profiled(snapshot), budget)


def _role(line: DeskLine, question: Question) -> Role:
    profile = question.profile
    role = line.role or _usual_role(profile)
    if line.role and kind_of(profile) not in _KINDS[role]:
        raise fail("role", role, "role_of_other_models", model=profile.repo_id)
    return role


def _study(role: Role, question: Question) -> Study:
    # llama-server computes an input at once whose tokens attend to all others, or which is scored,
    # and refuses one that is longer than its physical batch (`can_split`, tools/server).
    study, profile = question.study, question.profile
    at_once = kind_of(profile) == "encoder" or role == "reranking"
    context = study.workload.context
    if not at_once or context <= DEFAULT_UBATCH:
        return study
    return study.with_workload(batch_size=context, ubatch_size=context)


def _usual_role(profile: ModelProfile) -> Role:
    return "reranking" if profile.pipeline_tag == "text-ranking" else _ROLE_OF[task_of(profile)]


def _loading(server: DeskServer, request: DeskRequest) -> LoadTimes:
    stored = server.config.estimate.stored_bytes
    return load_times(stored, request.disk_gb_per_s, request.network_gbit_per_s)


def _changes(machine: Machine, choices: Sequence[Choices]) -> ChangeSearch:
    wider = [model.study.with_fixed_quants(_every(model.study)) for model in choices]
    return smallest_change(machine, choices, wider)


def _every(study: Study) -> Sequence[QuantPair]:
    every = every_quant(study.profile, study.workload.engine, also=study.quants)
    return [pair for pair in every if pair[0].bits >= _LEAST_BITS or pair in study.quants]


def _named(machine: Machine, studies: Sequence[Study], must_stay: Sequence[bool]) -> _Placed:
    choices = [choices_on(study, machine) for study in studies]
    return _Placed(machine, choices, place_all(machine, choices, must_stay))


def _bought(
    sizer: Sizer, request: DeskRequest, studies: Sequence[Study], must_stay: Sequence[bool]
) -> _Placed:
    # On the cheapest boards that keep all loaded. Raises InvalidRequest if none do.
    large_first = sorted(studies, key=lambda study: -_least_bytes(study))
    least, is_cut_short = sum(map(_least_bytes, studies)), False
    for gpu, boards in _for_sale(sizer, request):
        machine = Machine.with_boards(
            gpu,
            boards,
            request.ram_bytes,
            request.disk_bytes_per_second,
            request.ram_bytes_per_second,
        )
        if _memory_bytes(machine) < least:
            continue
        found = _together(large_first, machine)
        if found is None:
            continue
        choices = [found[study] for study in studies]
        can_stay = all_can_stay(machine, choices)
        placing = place_all(machine, choices, must_stay) if can_stay else None
        if placing is not None and placing.all_stay:
            costs = plan_costs(gpu, boards, None, request.assumptions)
            return _Placed(machine, choices, placing, costs, is_cut_short)
        is_cut_short = is_cut_short or can_stay is not False
    raise fail("gpu", "", "no_gpu_for_desk")


def _together(studies: Sequence[Study], machine: Machine) -> dict[Study, Choices] | None:
    # Choices of each model; None if one has none, or if all memory is too little.
    left = _memory_bytes(machine)
    known: dict[Study, Choices] = {}
    for study in studies:
        if study not in known:
            known[study] = choices_on(study, machine)
        choices = known[study]
        left -= choices.least_bytes
        if not choices.all or left < 0:
            return None
    return known


def _memory_bytes(machine: Machine) -> int:
    return sum(gpu.device_free_bytes for gpu in machine.gpus) + (machine.free_ram_bytes or 0)


def _least_bytes(study: Study) -> float:
    return min(least_bytes(study, quant, native) for quant, native in study.quants)


def _for_sale(sizer: Sizer, request: DeskRequest) -> Iterator[tuple[Gpu, int]]:
    """GPUs that pass the filters and are sold today, one to four boards, the cheapest first."""
    catalogue = narrowed(sizer.catalogue, request.filters.groups)
    catalogue, today = with_used_memory(catalogue, request.own_memory), current_day()
    offers = [
        (gpu.buy_usd * boards, boards, gpu.slug, gpu)
        for gpu in catalogue.gpus
        for boards in _BOARDS
        if gpu.buy_usd is not None
        and gpu.devices_per_board * boards <= MOST_DEVICES
        and boards <= (most_boards(gpu, request.filters) or 0)
        and can_be_bought(gpu, boards, today)
        and boards <= max_boards(gpu)
        and ended_support(gpu) is None
    ]
    for _, boards, _, gpu in sorted(offers, key=lambda offer: offer[:3]):
        yield gpu, boards


def _about_machine(
    machine: Machine, placing: Placing, servers: Sequence[DeskServer | None]
) -> Iterator[Note]:
    left_out = {"rig_ram_unknown"}
    if not any(server and server.config.machine.backend == VULKAN_NAME for server in servers):
        left_out.add("rig_vulkan")
    yield from (note for note in machine.notes if note.code not in left_out)
    if machine.ram_bytes is None and not placing.all_stay:
        yield Note("desk_ram_unknown")


def _about_models(models: Sequence[DeskModel]) -> Iterator[Note]:
    for model in models:
        yield from model.question.notes
