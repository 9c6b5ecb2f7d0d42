"""Changes: the first single change that lets all models stay loaded, tried in a fixed order.

quantization   one model in a smaller one than it would get unasked
context        one model with its context halved, as often as at least 2,048 tokens are left
gpu            one board more of a kind that the machine has, or two
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gpusizer.advice.conclusion.clauses import is_text, short_name
from gpusizer.advice.desk.choices import MOST_DEVICES, Choices, choices_on, rooms_of
from gpusizer.advice.desk.placing import Placing, can_all_stay, place
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


def place_all(machine: Machine, models: Sequence[Choices], must_stay: Sequence[bool]) -> Placing:
    """Place models on a machine; `must_stay` says of each whether it must stay loaded."""
    wishes = [model.wish(must_stay=must) for model, must in zip(models, must_stay, strict=True)]
    return place(rooms_of(machine), machine.free_ram_bytes, wishes)


def all_can_stay(machine: Machine, models: Sequence[Choices]) -> bool:
    """Return whether all models can stay loaded on a machine."""
    wishes = [model.wish(must_stay=True) for model in models]
    return can_all_stay(rooms_of(machine), machine.free_ram_bytes, wishes)


def smallest_change(
    machine: Machine, models: Sequence[Choices], wider: Sequence[Study]
) -> Change | None:
    """Return the first change that works, None without one.

    `wider` are the models with every quantization to choose from.
    """
    changes = chain(
        _by_quant(machine, models, wider), _by_context(machine, models), _by_board(machine, models)
    )
    return next(changes, None)


def most_boards_more(machine: Machine) -> int:
    """Return how many boards of a kind that a machine has may be added to it: 0, 1 or 2.

    Nothing can be added to a laptop, to a Mac, or to a computer that is sold around its chip.
    """
    return max((more for more in _BOARDS_MORE if _addable(machine, more)), default=0)


def _by_quant(
    machine: Machine, models: Sequence[Choices], wider: Sequence[Study]
) -> Iterator[Change]:
    for number, study in enumerate(wider):
        changed = _with(machine, models, number, study)
        if all_can_stay(machine, changed):
            seat = place_all(machine, changed, [True] * len(changed)).seats[number]
            other = changed[number]
            assert seat is not None
            quant = other.config_of(seat.option).estimate.quant
            model = short_name(study.profile)
            yield Change(
                "quant", number, quant.slug, Note("desk_try_quant", model=model, quant=quant.name)
            )


def _by_context(machine: Machine, models: Sequence[Choices]) -> Iterator[Change]:
    for number, model in enumerate(models):
        profile, context = model.study.profile, model.study.workload.context // 2
        while is_text(profile) and context >= _LEAST_CONTEXT:
            study = model.study.with_workload(context=context)
            if all_can_stay(machine, _with(machine, models, number, study)):
                note = Note("desk_try_context", model=short_name(profile), context=context)
                yield Change("context", number, context, note)
            context //= 2


def _by_board(machine: Machine, models: Sequence[Choices]) -> Iterator[Change]:
    for more in range(1, most_boards_more(machine) + 1):
        for gpu in _addable(machine, more):
            place_of = machine.gpus.index(gpu)
            added = (gpu,) * (more * gpu.devices_per_board)
            gpus = (*machine.gpus[:place_of], *added, *machine.gpus[place_of:])
            larger = replace(machine, gpus=gpus)
            others = [choices_on(model.study, larger) for model in models]
            if all_can_stay(larger, others):
                yield Change("gpu", None, more, Note("desk_try_gpu", count=more, gpu=gpu.name))


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
