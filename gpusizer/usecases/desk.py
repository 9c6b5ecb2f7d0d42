"""desk: the use case that places several models on one machine, or finds the machine for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.conclusion.desk import conclude_desk
from gpusizer.advice.desk.changes import (
    Change,
    ChangeSearch,
    smallest_change,
)
from gpusizer.advice.desk.choices import MOST_DEVICES, Choices
from gpusizer.advice.desk.memories import DeskDevice, DeskMemory, devices_of, system_memory_of
from gpusizer.advice.desk.placing import Placing
from gpusizer.advice.desk.seating import DeskServer, servers_of
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.core.validation import fail
from gpusizer.fit.machine import VULKAN_NAME, Machine, build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.fit.study import QuantPair, Study
from gpusizer.gpus.costs import PlanCosts
from gpusizer.gpus.costs.plan import LoadTimes, load_times
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.launch.desk_files import DeskFiles, desk_files
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task, kind_of, task_of
from gpusizer.usecases.desk_machine import PlacedDesk, cheapest_machine
from gpusizer.usecases.near_models import suggesting_models
from gpusizer.usecases.requests.desk_request import DeskLine, DeskRequest, Role
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request_fields import unnamed_notes
from gpusizer.usecases.requests.resolution import whole_batches
from gpusizer.usecases.requests.selection import every_quant
from gpusizer.usecases.sizer import Sizer

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
    studied = {text: _study(known[text], question.study) for text, question in questions.items()}
    read = [questions[text] for text in request.models]
    roles = [known[text] for text in request.models]
    studies = [studied[text] for text in request.models]
    must_stay = [line.must_stay for line in lines]
    if machine is None:
        placed = cheapest_machine(sizer.catalogue, request, studies, must_stay)
    else:
        placed = PlacedDesk.on_machine(machine, studies, must_stay)
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


def _study(role: Role, study: Study) -> Study:
    return study.with_workload(**whole_batches(study.workload)) if role == "reranking" else study


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
