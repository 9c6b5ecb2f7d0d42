"""Machines that a request names, and the best run config of a model on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.advice.capacity_limits import Plan, largest
from gpusizer.advice.in_turns import on_fewer_boards, on_these_boards, study_of
from gpusizer.advice.next_steps import advise
from gpusizer.advice.parallelism_plans import run_plans
from gpusizer.advice.ranking import Alternative, Ranked, describe
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.fit.audience import audience_of
from gpusizer.fit.division import asked_boards, asked_split, board_counts
from gpusizer.fit.machine import Machine
from gpusizer.fit.machine_parser import KindWords, parse_kind
from gpusizer.fit.platforms import SERVER_BOARDS
from gpusizer.fit.preference import best_config, best_on_boards, fastest_on_boards
from gpusizer.fit.preference_key import preference_key, suitability_of
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.own_memory import FreeMemory
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.speed.classes import SERVING
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.selection import every_quant


@dataclass(frozen=True, slots=True)
class NamedGpu:
    """A GPU with the requested boards and system memory."""

    gpu: Gpu
    boards: int | None  # None leaves the number open
    # stated with its name; None for the amount that the request states for all
    ram_bytes: int | None = None


def find_named(
    texts: Sequence[str], count: int | None, catalogue: Catalogue, memory: FreeMemory
) -> list[NamedGpu]:
    """Return GPUs by name; facts written with a name override those stated for all.

    Raises UnknownGpu, and InvalidRequest for a machine with cards of several kinds.
    """
    cards = UserGpus(catalogue, memory)
    return [
        NamedGpu(cards.find(kind.name), stated_boards(kind, count), kind.ram_bytes)
        for kind in map(parse_kind, texts)
    ]


def stated_boards(kind: KindWords, count: int | None) -> int | None:
    """Return the boards that a name states, else those stated for all, or None if open.

    A machine that is named with its memory has one card unless its name states more.
    """
    return kind.boards or count or (None if kind.ram_bytes is None else 1)


def best_on_named(study: Study, named: NamedGpu, request: SizeRequest) -> RunConfig:
    """Return the best run config on a named GPU, in the machine of the request.

    An open number of boards becomes the fewest that run the model; for cards of servers and
    workstations, which come in numbers, the fewest that hold it without system memory; for many
    users fewer, if they can take turns. A machine with a stated memory, or stated free memory of
    its card, has one.

    Raises InvalidRequest if the requested parallelism does not divide the model over them.
    """
    gpu, boards = named.gpu, named.boards or asked_boards(study.workload, named.gpu)
    ram_bytes = request.ram_bytes if named.ram_bytes is None else named.ram_bytes
    is_open = boards is None and ram_bytes is None
    if is_open and gpu.is_for_servers:
        taken = best_on_boards(study, gpu)
        enough = request.min_tok_s or READING_SPEED
        found = on_fewer_boards(study, gpu, board_counts(gpu), taken, enough) or taken
        if found is not None:
            return found
    machine = Machine.with_boards(
        gpu,
        boards or 1,
        ram_bytes,
        request.disk_bytes_per_second,
        request.ram_bytes_per_second,
    )
    split = asked_split(study.workload)
    if split is not None and split.gpus != len(machine.gpus):
        raise InvalidRequest(field="gpu_count", value=str(boards), reason="cannot_be_split")
    config = best_config(study, machine)
    own = gpu.free_bytes is not None  # somebody looked at the card that he has
    by_number = gpu.segment == "workstation" and not config.verdict.all_on_gpu
    if is_open and not own and (by_number or config.verdict is Verdict.DOES_NOT_FIT):
        return best_on_boards(study, gpu) or config
    serves = config.estimate.engine.abilities.speed_family == SERVING
    if serves and config.verdict.all_on_gpu:
        return config
    return on_these_boards(study, machine) or config


def ranked_on_named(
    study: Study, named: NamedGpu, request: SizeRequest, rank: int, *, advised: bool = True
) -> Ranked:
    """Return the ranking entry of a named GPU.

    `advised` adds what else fits there, and changes that would help.
    """
    config = best_on_named(study, named, request)
    own = study_of(study, config)
    place = _named_place(own, config, rank, request)
    taken = named.boards is None and config.boards > 1  # more than were named
    about = [Note("boards_taken", count=config.boards, gpu=config.gpu.name)] if taken else []
    if own is not study:
        users, asked = own.workload.sequences, study.workload.concurrency
        about.append(Note("users_in_turns", users=users, asked=asked))
    place = replace(place, reasons=(*about, *place.reasons))
    return with_advice(own, place, named.boards) if advised else place


def more_boards(
    study: Study, named: Sequence[NamedGpu], places: Sequence[Ranked], request: SizeRequest
) -> tuple[Alternative, ...]:
    """Return the boards to suggest for many users of one server GPU with an open number.

    These are the boards that serve all at once if the place serves them in turns, and the fastest
    number that one server takes.
    """
    if audience_of(study) != "many" or len(places) != 1:
        return ()
    gpu, first = named[0].gpu, places[0]
    if named[0].boards is not None or not gpu.is_for_servers or not first.fit.verdict.all_on_gpu:
        return ()
    counts = [n for n in board_counts(gpu) if n <= SERVER_BOARDS]
    configs = {"fastest": fastest_on_boards(study, gpu, counts)}
    if first.workload.takes_turns and not study.workload.takes_turns:
        configs = {"at_once": best_on_boards(study, gpu), **configs}
    return tuple(
        Alternative(kind, _named_place(study, config, place, request), first)
        for place, (kind, config) in enumerate(configs.items(), start=2)
        if config is not None
        and preference_key(study, config).holds
        and config.boards > first.fit.count
    )


def _named_place(study: Study, config: RunConfig, rank: int, request: SizeRequest) -> Ranked:
    # No rule keeps back a GPU that the request names.
    return replace(
        describe(study, config, rank),
        assumptions=request.assumptions,
        enough=request.min_tok_s or READING_SPEED,
        suitability=replace(suitability_of(study, config), kept_back=None),
    )


def with_advice(study: Study, place: Ranked, boards: int | None = None) -> Ranked:
    """Return the entry with capacity limits, helpful changes, and ways to divide the model.

    Any quantization may be suggested; ways to divide keep to the requested ones, and to `boards` if
    stated.
    """
    config = place.fit.config
    quants = every_quant(study.profile, study.workload.engine, also=study.quants)
    plan = Plan.from_config(study.with_quants(quants), config)
    advice = advise(plan, config)
    if config.machine.ram_bytes is not None and config.verdict is not Verdict.OFFLOAD:
        advice = tuple(item for item in advice if item.note.code != "try_offload")
    return replace(
        place,
        largest=largest(plan, place.limits),
        advice=advice,
        plans=run_plans(study, config, boards),
    )
