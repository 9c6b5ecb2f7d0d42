"""Chooses the way to run a model on each GPU of the catalogue, for rankings to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpusizer.fit.compatibility import meets_needs, runs_engine
from gpusizer.fit.fit import (
    COUNTS,
    Fitter,
    asked_split,
    device_class_of,
    headroom_on,
    max_cards,
    memory_of,
)
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.memory.engines import Engine, find_engine
from gpusizer.memory.estimate import MemoryEstimate

Places = frozenset[int]
"""Positions in the catalogue."""


@dataclass(frozen=True, slots=True)
class CandidateChoice:
    """The way chosen for one GPU.

    Attributes:
        tight: whether it fits at the likely values but not at the high end.
        spare_share: of each device's memory, free at the likely values.
    """

    gpu: Gpu
    boards: int
    estimate: MemoryEstimate
    tight: bool
    spare_share: float


def choose(
    fitter: Fitter,
    catalogue: Catalogue,
    most_boards: Sequence[int | None] | None = None,
    spare_share: float = 0.0,
    counts: Sequence[int] = COUNTS,
) -> list[CandidateChoice]:
    """For each GPU on sale the first way that surely fits and leaves `spare_share` of each card
    free, else the first that surely fits, else the first that is tight.

    Ways are tried by GPU count, then from the most faithful quantization down, as long as a GPU is
    left without a choice. The result is in catalogue order, without GPUs on which nothing fits.
    `most_boards` limits the boards of each GPU (None: leave this GPU out). `counts` are the numbers
    of devices to try, where the request fixes no parallelism.
    """
    roomy: dict[int, CandidateChoice] = {}
    sure: dict[int, CandidateChoice] = {}
    tight: dict[int, CandidateChoice] = {}
    for estimate, places in _ways(fitter, catalogue, counts, taken=roomy):
        needed = estimate.per_gpu.total.likely
        for place in places:
            gpu = catalogue.gpus[place]
            memory = memory_of(estimate.engine, gpu)
            if memory < needed:
                continue
            boards = estimate.split.gpus // gpu.devices_per_board
            if most_boards is not None and boards > (most_boards[place] or 0):
                continue
            likely_bytes, least_bytes = _to_spare(gpu, estimate, memory)
            spare = likely_bytes / memory
            if least_bytes >= 0:
                choices = roomy if spare >= spare_share else sure
                if place not in choices:
                    choices[place] = CandidateChoice(gpu, boards, estimate, False, spare)
            elif place not in tight and spare >= 0:
                tight[place] = CandidateChoice(gpu, boards, estimate, True, spare)
    return [choice for _, choice in sorted({**tight, **sure, **roomy}.items())]


def _to_spare(gpu: Gpu, estimate: MemoryEstimate, memory: int) -> tuple[int, int]:
    """Bytes to spare on each device of that memory, at the likely values and at the high end.

    The short way for the GPUs of the catalogue, of which nothing is in use, is what `headroom_on`
    comes to: rankings ask it thousands of times.
    """
    if gpu.free_bytes is not None:
        return headroom_on(gpu, estimate), headroom_on(gpu, estimate, cautious=True)
    total, budgeted = estimate.per_gpu.total, estimate.budgeted
    budget = int(memory * estimate.utilization)
    return (
        min(memory - total.likely, budget - budgeted.likely),
        min(memory - total.high, budget - budgeted.high),
    )


def _ways(
    fitter: Fitter, catalogue: Catalogue, counts: Sequence[int], taken: dict[int, CandidateChoice]
) -> Iterator[tuple[MemoryEstimate, Places]]:
    """Every GPU count x quantization x engine, and the GPUs to try it on: not those in `taken`."""
    requested = asked_split(fitter.workload)
    quants = sorted(fitter.quants, key=lambda pair: pair[0].order)
    for count in counts if requested is None else (requested.gpus,):
        able = _able(catalogue, count)
        for quant, native in quants:
            slugs = tuple(engine.slug for engine in fitter.engines(quant))
            for engine, device_class, lane in _lanes(catalogue, slugs, quant.needs):
                places = (lane & able).difference(taken)
                split = fitter.split(engine, count) if places else None
                if split is not None:
                    yield fitter.estimate(quant, native, engine, split, device_class), places


@lru_cache(maxsize=64)
def _able(catalogue: Catalogue, devices: int) -> Places:
    """GPUs on sale of which `count` devices make whole boards, up to `max_cards`."""
    return frozenset(
        place
        for place, gpu in enumerate(catalogue.gpus)
        if gpu.status != "announced"
        and devices % gpu.devices_per_board == 0
        and devices // gpu.devices_per_board <= max_cards(gpu)
    )


@lru_cache(maxsize=256)
def _lanes(
    catalogue: Catalogue, engines: tuple[str, ...], needs: str
) -> tuple[tuple[Engine, int, Places], ...]:
    """Engine, class of its defaults, and the GPUs where it is the first of `engines` to run.

    `needs` are those of the quantization.
    """
    free, lanes = _meeting(catalogue, needs), []
    for slug in engines:
        running = _running(catalogue, slug)
        lanes += [(find_engine(slug), number, places & free) for number, places in running]
        free = free.difference(*(places for _, places in running))
    return tuple(lane for lane in lanes if lane[2])


@lru_cache(maxsize=64)
def _running(catalogue: Catalogue, slug: str) -> tuple[tuple[int, Places], ...]:
    """Classes of an engine's defaults, and the GPUs of each that there is a build for."""
    engine = find_engine(slug)
    by_class: dict[int, set[int]] = {}
    for place, gpu in enumerate(catalogue.gpus):
        if runs_engine(engine, gpu):
            by_class.setdefault(device_class_of(engine, gpu), set()).add(place)
    return tuple((number, frozenset(places)) for number, places in by_class.items())


@lru_cache(maxsize=16)
def _meeting(catalogue: Catalogue, needs: str) -> Places:
    """GPUs that compute in what a quantization needs."""
    return frozenset(place for place, gpu in enumerate(catalogue.gpus) if meets_needs(needs, gpu))
