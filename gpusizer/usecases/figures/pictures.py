"""Everything the page draws about one answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusizer.fit.fit import Fit
from gpusizer.fit.study import Study
from gpusizer.gpus import Gpu
from gpusizer.usecases.figures.memory import (
    Capacity,
    Curve,
    LossPoint,
    Stack,
    capacities,
    context_curves,
    few_levels,
    loss_points,
    stacks,
)
from gpusizer.usecases.figures.speeds import PriceSpeed, UserSpeed, price_speed, user_speeds
from gpusizer.usecases.report import EstimateRow, Report


@dataclass(frozen=True, slots=True)
class Pictures:
    """Memory by quantization and context against what GPUs hold; loss against memory; prices and
    users against speed.

    `context` is None for what draws, `ttft_seconds` the most that a first token may take, None for
    any.
    """

    context: int | None
    concurrency: int
    stacks: tuple[Stack, ...]
    curves: tuple[Curve, ...]
    capacities: tuple[Capacity, ...]
    prices: tuple[PriceSpeed, ...]
    users: tuple[UserSpeed, ...] = ()
    losses: tuple[LossPoint, ...] = ()
    ttft_seconds: float | None = None


def pictures_of(
    study: Study,
    report: Report,
    shown: Sequence[EstimateRow],
    boards: Iterable[tuple[Gpu, int]],
    fits: Sequence[Fit] = (),
) -> Pictures:
    """Pictures of a report whose ranking is whole; `shown` are the levels to stack up.

    `boards` are the picked GPUs, `fits` how the model runs on them.
    """
    plan = report.serving_plan
    return Pictures(
        context=report.workload.context if report.profile.pipeline is None else None,
        concurrency=report.workload.concurrency,
        stacks=stacks(shown),
        curves=context_curves(study, few_levels(report.estimates)),
        capacities=capacities(boards),
        prices=(price_speed(report.ranking, "buy"), price_speed(report.ranking, "rent")),
        users=user_speeds(study, fits),
        ttft_seconds=None if plan is None else plan.target.ttft_seconds,
        losses=loss_points(report.estimates),
    )
