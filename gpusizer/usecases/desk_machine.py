"""Machine of a desk: one that is named, or the cheapest that keeps all models loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusizer.advice.desk.changes import all_can_stay, place_all
from gpusizer.advice.desk.choices import MOST_DEVICES, Choices, choices_on
from gpusizer.advice.desk.placing import Placing
from gpusizer.core.validation import fail
from gpusizer.fit.division import max_boards
from gpusizer.fit.filters import most_boards, narrowed
from gpusizer.fit.machine import Machine
from gpusizer.fit.recommendation import can_be_bought
from gpusizer.fit.run_configs import least_bytes
from gpusizer.fit.study import Study
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.costs import PlanCosts, plan_costs
from gpusizer.gpus.on_offer import ended_support
from gpusizer.gpus.purchase import current_day
from gpusizer.gpus.user_gpus import with_used_memory
from gpusizer.usecases.requests.desk_request import DeskRequest

_BOARDS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class PlacedDesk:
    """Models on a machine.

    Attributes:
        costs: of a machine that was looked for.
        is_cut_short: whether all stay on a cheaper one is not known.
    """

    machine: Machine
    choices: Sequence[Choices]
    placing: Placing
    costs: PlanCosts | None = None
    is_cut_short: bool = False

    @classmethod
    def on_machine(
        cls, machine: Machine, studies: Sequence[Study], must_stay: Sequence[bool]
    ) -> PlacedDesk:
        """Place models on a machine; `must_stay` says of each whether it must stay loaded."""
        choices = [choices_on(study, machine) for study in studies]
        return cls(machine, choices, place_all(machine, choices, must_stay))


def cheapest_machine(
    catalogue: Catalogue,
    request: DeskRequest,
    studies: Sequence[Study],
    must_stay: Sequence[bool],
) -> PlacedDesk:
    """Return the cheapest boards that keep all models loaded. Raises InvalidRequest if none do."""
    large_first = sorted(studies, key=lambda study: -_least_bytes(study))
    least, is_cut_short = sum(map(_least_bytes, studies)), False
    for gpu, boards in _for_sale(catalogue, request):
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
            return PlacedDesk(machine, choices, placing, costs, is_cut_short)
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


def _for_sale(catalogue: Catalogue, request: DeskRequest) -> Iterator[tuple[Gpu, int]]:
    """GPUs that pass the filters and are sold today, one to four boards, the cheapest first."""
    catalogue = narrowed(catalogue, request.filters.groups)
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
