"""Finds the best way to run a model on one kind of GPU."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.advice import advise
from gpusizer.fit.capacity_limits import FitPlan, largest
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.fit import COUNTS, Fitter, asked_split, device_class_of, headroom_on, max_cards
from gpusizer.fit.parallelism.parallelism_plans import ways
from gpusizer.fit.ranking import Ranked, describe
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate


def best_on(fitter: Fitter, gpu: Gpu, boards: int | None, rank: int) -> Ranked:
    """The best way to run the model on one kind of GPU.

    The smallest count with the best verdict; at equal count the most faithful quantization.
    When nothing fits, the least demanding candidate tells how much is missing.
    """
    counts = _counts(fitter, gpu, boards)
    options = [
        (boards_tried, estimate)
        for boards_tried in counts
        for estimate in _estimates_on(fitter, gpu, boards_tried)
    ]
    if not options:
        raise InvalidRequest(field="gpu_count", value=str(boards), reason="cannot_be_split")
    count, estimate = min(options, key=lambda option: _preference(fitter, gpu, *option))
    return describe(fitter, gpu, count, estimate, rank)


def advised(
    ranked: Ranked, fitter: Fitter, alternatives: Fitter, boards: int | None = None
) -> Ranked:
    """The ranking entry with its capacity limits, remedies and ways to run it.

    `alternatives` are the quantizations to try; the one chosen must be among them. Ways choose
    among those of `fitter`, on `boards` where so many were asked for.
    """
    plan = FitPlan.of(alternatives, ranked.fit)
    plans = ways(fitter, ranked.fit, boards)
    return replace(ranked, largest=largest(plan), advice=advise(plan), plans=plans)


def _counts(fitter: Fitter, gpu: Gpu, boards: int | None) -> list[int]:
    """Numbers of boards to try: the requested one, stated or implied by parallelism, or all."""
    split = asked_split(fitter.workload)
    if boards is None and split is not None:
        boards = -(-split.gpus // gpu.devices_per_board)
    return [boards] if boards else [n for n in COUNTS if n <= max_cards(gpu)]


def _preference(fitter: Fitter, gpu: Gpu, boards: int, estimate: MemoryEstimate) -> tuple[int, ...]:
    verdict = fitter.verdict(gpu, estimate)
    if verdict.all_on_gpu:
        return (verdict.place, boards, estimate.quant.order)
    return (verdict.place, -headroom_on(gpu, estimate), boards)


def _estimates_on(fitter: Fitter, gpu: Gpu, boards: int) -> list[MemoryEstimate]:
    """One estimate per quantization, with the first of its engines that runs on the GPU.

    Where nothing runs on it, one of the first quantization all the same: its verdict says so.
    """
    running = [
        (quant, native, engine)
        for quant, native in fitter.quants
        for engine in [next((e for e in fitter.engines(quant) if runs_on(quant, e, gpu)), None)]
        if engine is not None
    ]
    if not running:
        quant, native = fitter.quants[0]
        running = [(quant, native, fitter.engines(quant)[0])]
    estimates = []
    for quant, native, engine in running:
        split = fitter.split(engine, boards * gpu.devices_per_board)
        if split is not None:
            device_class = device_class_of(engine, gpu)
            estimates.append(fitter.estimate(quant, native, engine, split, device_class))
    return estimates
