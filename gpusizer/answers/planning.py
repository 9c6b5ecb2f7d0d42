"""The serving plan of a request: replicas for so many requests a second."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.named_gpus import NamedGpu
from gpusizer.answers.question import Question
from gpusizer.answers.resolution import resolve_workload
from gpusizer.fit.filters import board_limits, narrowed
from gpusizer.fit.serving.target import serving_workload
from gpusizer.fit.serving_plan import ServingPlan, joined, plan_serving
from gpusizer.fit.study import Study
from gpusizer.gpus import Catalogue
from gpusizer.gpus.own_cards import with_used_memory


def serving_plan(
    question: Question, catalogue: Catalogue, named: Sequence[NamedGpu]
) -> ServingPlan | None:
    """Replicas that meet the request's target, None where it has none.

    GPUs that the request names are planned with alone, at the number of boards that it fixes for
    each, and at the reader's own prices; else those that pass the filters. Lengths left open share
    out a context that the model has. Raises InvalidRequest.
    """
    request, profile = question.request, question.profile
    longest = profile.max_context
    target = request.target_within(min(request.context, longest or request.context))
    if target is None:
        return None
    sequence = serving_workload(request.workload, target, longest)
    workload, _ = resolve_workload(sequence, profile)
    asked = question.study
    study = Study(profile, workload, asked.quants, asked.budget, asked.demands)
    if named:
        return joined(
            [
                plan_serving(
                    study, Catalogue((n.gpu,)), target, request.assumptions, boards=[n.boards]
                )
                for n in named
            ]
        )
    passing = narrowed(catalogue, request.filters.groups)
    passing = with_used_memory(passing, request.own_memory)
    return plan_serving(
        study,
        passing,
        target,
        request.assumptions.without_own_prices,
        boards=[request.gpu_count] * len(passing.gpus),
        most_boards=board_limits(passing, request.filters),
        top=request.top,
    )
