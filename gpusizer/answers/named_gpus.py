"""GPUs that a request names, and the best way to run a model on each in the reader's machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusizer.answers.request import SizeRequest
from gpusizer.answers.selection import every_quant
from gpusizer.fit.best_on_gpu import advised, best_on
from gpusizer.fit.fit import Fitter, asked_split
from gpusizer.fit.host_memory import in_host_memory
from gpusizer.fit.mixed_gpus.machine import machine_of
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.recommendation import READING_SPEED
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.gpus.own_cards import OwnCards
from gpusizer.gpus.own_memory import OwnMemory

NamedGpu = tuple[Gpu, int | None]
"""A GPU and the boards that the request asks for; None leaves their number open."""


def boards_of(request: SizeRequest, count: int | None = None) -> int | None:
    """Boards of each GPU that is named without a number: `count`; None for the fewest that fit.

    A machine of stated memory has the GPUs that it has: one of each, unless more are asked for.
    """
    is_open = count is None and asked_split(request.workload) is None
    return 1 if is_open and request.ram_bytes is not None else count


def find_named(
    texts: Sequence[str], count: int | None, catalogue: Catalogue, memory: OwnMemory
) -> list[NamedGpu]:
    """GPUs by name; a count or free memory written with a name wins over the other."""
    requests = [parse_gpu_request(text) for text in texts]
    cards = OwnCards(catalogue, memory)
    return [(cards.find(gpu.name), gpu.count or count) for gpu in requests]


def best_on_named(fitter: Fitter, named: Sequence[NamedGpu]) -> list[Ranked]:
    """The best way to run the model on each of the named GPUs."""
    return [best_on(fitter, gpu, count, rank) for rank, (gpu, count) in enumerate(named, start=1)]


def advised_on_named(fitter: Fitter, named: Sequence[NamedGpu]) -> list[Ranked]:
    """The best way to run the model on each of the named GPUs, with what more would fit."""
    profile, workload = fitter.profile, fitter.workload
    quants = every_quant(profile, workload.engine, also=fitter.quants)
    alternatives = Fitter(profile, workload, quants, fitter.budget)
    return [
        advised(best, fitter, alternatives, count)
        for best, (_, count) in zip(best_on_named(fitter, named), named, strict=True)
    ]


def as_requested(
    places: Sequence[Ranked], fitter: Fitter, request: SizeRequest
) -> tuple[Ranked, ...]:
    """Places with the costs and the speed to go by that the request states, in its machine."""
    enough = request.min_tok_s or READING_SPEED
    ranking = []
    for place in places:
        item = _in_machine(place, fitter, request)
        ranking.append(replace(item, assumptions=request.assumptions, enough=enough))
    return tuple(ranking)


def _in_machine(ranked: Ranked, fitter: Fitter, request: SizeRequest) -> Ranked:
    """A place as it is in a machine with the request's `ram_gb` beside the GPUs.

    Suggestions to leave a part in system memory go where that is too small for it.
    """
    if request.ram_bytes is None:
        return ranked
    gpu, boards = ranked.fit.gpu, ranked.fit.count
    rig = machine_of(gpu, boards, request.ram_bytes, request.disk_bytes_per_second)
    ranked = in_host_memory(fitter, ranked, rig)
    if ranked.fit.verdict.in_memory:
        return ranked
    advice = tuple(s for s in ranked.advice if s.note.code != "try_offload")
    return replace(ranked, advice=advice)
