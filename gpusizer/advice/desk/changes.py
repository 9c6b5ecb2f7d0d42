"""Changes: the first single change that lets all models stay loaded, tried in a fixed order.

quantization   one model in a smaller one than it would get unasked
context        one model with its context halved, as often as at least 2,048 tokens are left
gpu            one board more of a kind that the machine has, or two
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Literal

from gpusizer.advice.conclusion.clauses import is_text, short_name
from gpusizer.advice.desk.choices import MOST_DEVICES, Choices, choices_on, rooms_of
from gpusizer.advice.desk.placing import Placing, can_all_stay, place
from gpusizer.core.errors import LimitsExceeded
from gpusizer.core.messages import Note, NoteValue
from gpusizer.fit.machine import Machine
from gpusizer.fit.study import Study
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.power import is_card

_LEAST_CONTEXT = 2048  # tokens
_BOARDS_MORE = (1, 2)


@dataclass(frozen=True, slots=True)
class Change:
    """A change after which all models stay loaded.

    Attributes:
        kind: "quant", "context" or "gpu".
        number: place of the model that it changes, None for one of the machine.
        value: the slug of a quantization, the tokens of a context, or the boards more.
    """

    kind: str
    number: int | None
    value: NoteValue
    note: Note


@dataclass(frozen=True, slots=True)
class ChangeSearch:
    """The change that was looked for.

    Attributes:
        change: the first that works, None where none was found.
        is_complete: all changes were tried to the end, or those before the one that works.
        boards: the most boards more of one kind that were tried.
    """

    change: Change | None
    is_complete: bool
    boards: int

    @property
    def outcome(self) -> Literal["found", "none_helps", "cut_short"]:
        """Whether a change works, none does, or the search ended before that was known."""
        if self.change is not None:
            return "found"
        return "none_helps" if self.is_complete else "cut_short"

    @property
    def note(self) -> Note:
        """Sentence about the change, or about there being none."""
        if self.change is not None:
            return self.change.note
        if not self.is_complete:
            return Note("answer_desk_change_unknown")
        if self.boards:
            return Note("answer_desk_no_change", boards=self.boards)
        return Note("answer_desk_no_less")


def place_all(machine: Machine, models: Sequence[Choices], must_stay: Sequence[bool]) -> Placing:
    """Place models on a machine; `must_stay` says of each whether it must stay loaded."""
    requests = [
        model.as_request(must_stay=must) for model, must in zip(models, must_stay, strict=True)
    ]
    return place(rooms_of(machine), machine.free_ram_bytes, requests)


def all_can_stay(machine: Machine, models: Sequence[Choices]) -> bool | None:
    """Return whether all models can stay loaded on a machine, None where that is not known."""
    requests = [model.as_request(must_stay=True) for model in models]
    return can_all_stay(rooms_of(machine), machine.free_ram_bytes, requests)


def smallest_change(
    machine: Machine, models: Sequence[Choices], wider: Sequence[Study]
) -> ChangeSearch:
    """Look for the first change that works.

    `wider` are the models with every quantization to choose from.
    """
    boards, is_complete = most_boards_more(machine), True
    candidates = chain(
        _by_quant(machine, models, wider), _by_context(machine, models), _by_board(machine, models)
    )
    try:
        for candidate in candidates:
            placing, is_known = _keeping_all(candidate)
            if placing is not None:
                return ChangeSearch(candidate.change(placing), is_complete, boards)
            is_complete = is_complete and is_known
    except LimitsExceeded:
        is_complete = False
    return ChangeSearch(None, is_complete, boards)


@dataclass(frozen=True, slots=True)
class _Candidate:
    # A changed desk, and the change that its placing shows.
    machine: Machine
    models: Sequence[Choices]
    change: Callable[[Placing], Change]


def _keeping_all(candidate: _Candidate) -> tuple[Placing | None, bool]:
    # The placing that keeps all, and whether it is known that there is one or none.
    can_stay = all_can_stay(candidate.machine, candidate.models)
    if not can_stay:
        return None, can_stay is False
    placing = place_all(candidate.machine, candidate.models, [True] * len(candidate.models))
    return (placing, True) if placing.all_stay else (None, False)


def most_boards_more(machine: Machine) -> int:
    """Return how many boards of a kind that a machine has may be added to it: 0, 1 or 2.

    Nothing can be added to a laptop, to a Mac, or to a computer that is sold around its chip.
    """
    return max((more for more in _BOARDS_MORE if _addable(machine, more)), default=0)


def _by_quant(
    machine: Machine, models: Sequence[Choices], wider: Sequence[Study]
) -> Iterator[_Candidate]:
    for number, study in enumerate(wider):
        changed = _with(machine, models, number, study)
        yield _Candidate(machine, changed, partial(_to_quant, number, changed[number]))


def _to_quant(number: int, model: Choices, placing: Placing) -> Change:
    seat = placing.seats[number]
    assert seat is not None  # all stay
    quant = model.config_of(seat.option).estimate.quant
    name = short_name(model.study.profile)
    return Change("quant", number, quant.slug, Note("desk_try_quant", model=name, quant=quant.name))


def _by_context(machine: Machine, models: Sequence[Choices]) -> Iterator[_Candidate]:
    for number, model in enumerate(models):
        profile, context = model.study.profile, model.study.workload.context // 2
        while is_text(profile) and context >= _LEAST_CONTEXT:
            changed = _with(machine, models, number, model.study.with_workload(context=context))
            note = Note("desk_try_context", model=short_name(profile), context=context)
            yield _fixed(machine, changed, Change("context", number, context, note))
            context //= 2


def _by_board(machine: Machine, models: Sequence[Choices]) -> Iterator[_Candidate]:
    for more in range(1, most_boards_more(machine) + 1):
        for gpu in _addable(machine, more):
            place_of = machine.gpus.index(gpu)
            added = (gpu,) * (more * gpu.devices_per_board)
            gpus = (*machine.gpus[:place_of], *added, *machine.gpus[place_of:])
            larger = replace(machine, gpus=gpus)
            changed = [choices_on(model.study, larger) for model in models]
            note = Note("desk_try_gpu", count=more, gpu=gpu.name)
            yield _fixed(larger, changed, Change("gpu", None, more, note))


def _fixed(machine: Machine, models: Sequence[Choices], change: Change) -> _Candidate:
    return _Candidate(machine, models, lambda _: change)


def _addable(machine: Machine, more: int) -> list[Gpu]:
    # Kinds with room for more boards: cards in a slot, and boards of servers.
    return [
        gpu
        for gpu in dict.fromkeys(machine.gpus)
        if (is_card(gpu) or (gpu.is_for_servers and not gpu.unified_memory))
        and len(machine.gpus) + more * gpu.devices_per_board <= MOST_DEVICES
    ]


def _with(machine: Machine, models: Sequence[Choices], number: int, study: Study) -> list[Choices]:
    # All models, one of them as another study has it.
    other = choices_on(study, machine)
    return [other if place == number else model for place, model in enumerate(models)]
