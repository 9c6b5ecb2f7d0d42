"""Conclusion of a desk: which models stay loaded on a machine, and what would let all stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpusizer.advice.conclusion.clauses import Conclusion, machine_name, names, short_name
from gpusizer.advice.desk.changes import ChangeSearch
from gpusizer.core.messages import Note, NoteValue
from gpusizer.fit.machine import Machine
from gpusizer.gpus.costs import PlanCosts
from gpusizer.model.profile import ModelProfile


def conclude_desk(
    machine: Machine,
    states: Sequence[tuple[ModelProfile, str]],
    changes: ChangeSearch | None,
    costs: PlanCosts | None,
) -> Conclusion:
    """Return the conclusion.

    `states` are the models with what becomes of each ("resident", "on_demand", "left_out" beside
    those that stay, "no_place" even alone), `changes` what would let all stay (None where they do),
    `costs` those of a machine that was looked for.
    """
    said = tuple(_said(machine, states, changes, costs))
    resident = sum(state == "resident" for _, state in states)
    facts: Mapping[str, NoteValue | None] = {
        "models": len(states),
        "resident": resident,
        "gpu_name": machine_name(machine),
        "devices": len(machine.gpus),
        "buy_usd": None if costs is None else costs.buy_usd,
        "rent_usd_per_hour": None if costs is None else costs.rent_usd_per_hour,
    }
    return Conclusion("desk", said, (), facts)


def _said(
    machine: Machine,
    states: Sequence[tuple[ModelProfile, str]],
    changes: ChangeSearch | None,
    costs: PlanCosts | None,
) -> Iterator[Note]:
    gpus, count = machine_name(machine), len(states)
    of_state = {
        state: [short_name(profile) for profile, its in states if its == state]
        for state in ("resident", "on_demand", "left_out", "no_place")
    }
    if costs is not None and costs.buy_usd is not None:
        yield Note("answer_desk_bought", gpus=gpus, models=count, all_usd=costs.buy_usd)
        return
    stay = len(of_state["resident"])
    if stay == count:
        yield Note("answer_desk_all_stay", gpus=gpus, models=count)
        return
    if stay:
        yield Note("answer_desk_some_stay", gpus=gpus, stay=stay, models=count)
    else:
        yield Note("answer_desk_none_stay", gpus=gpus)
    if waiting := of_state["on_demand"]:
        yield Note("answer_desk_waiting", waiting=names(waiting))
    if left_out := of_state["left_out"]:
        yield Note("answer_desk_left_out", left_out=names(left_out))
    if no_place := of_state["no_place"]:
        yield Note("answer_desk_no_place", no_place=names(no_place))
    if changes is not None:
        yield changes.note
