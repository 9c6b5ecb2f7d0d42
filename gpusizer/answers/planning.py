"""The serving plan of a request: replicas for so many requests a second."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.request import SizeRequest
from gpusizer.answers.resolution import resolve_workload
from gpusizer.answers.selection import select_quants
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.filters import board_limits, narrowed
from gpusizer.fit.fit import Fitter
from gpusizer.fit.serving_plan import ServingPlan, plan_serving, serving_workload
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.own_cards import with_used_memory
from gpusizer.model.profile import ModelProfile

NamedGpu = tuple[Gpu, int | None]


def serving_plan(
    request: SizeRequest,
    profile: ModelProfile,
    quants: Sequence[str],
    catalogue: Catalogue,
    named: Sequence[NamedGpu],
    budget: TimeBudget,
) -> ServingPlan | None:
    """Replicas that meet the request's target, None where it has none.

    GPUs that the request names are planned with alone, at the number of boards that it fixes for
    each, and at the reader's own prices; else those that pass the filters. Raises InvalidRequest.
    """
    target = request.target
    if target is None:
        return None
    asked = serving_workload(request.workload, target, profile.max_context)
    workload, _ = resolve_workload(asked, profile)
    selection = select_quants(quants, profile, workload.engine)
    fitter = Fitter(profile, workload, selection.rankable, budget)
    if named:
        boards = {gpu.slug: count for gpu, count in named}
        gpus = {gpu.slug: gpu for gpu, _ in named}
        return plan_serving(
            fitter,
            Catalogue(tuple(gpus.values())),
            target,
            request.assumptions,
            boards=[boards[slug] for slug in gpus],
        )
    passing = narrowed(catalogue, request.filters.groups)
    passing = with_used_memory(passing, request.own_memory)
    return plan_serving(
        fitter,
        passing,
        target,
        request.assumptions.without_own_prices,
        boards=[request.gpu_count] * len(passing.gpus),
        most_boards=board_limits(passing, request.filters),
        top=request.top,
    )
