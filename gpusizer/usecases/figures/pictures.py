"""Data of all plots of one answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.study import Study
from gpusizer.gpus import Gpu
from gpusizer.usecases.figures.memory import (
    Capacity,
    Curve,
    LossPoint,
    capacities,
    context_curves,
    few_levels,
    loss_points,
    place_curves,
)
from gpusizer.usecases.figures.monthly_costs import MonthlyCosts, monthly_costs
from gpusizer.usecases.figures.speeds import UserSpeed, user_speeds
from gpusizer.usecases.report import Report


@dataclass(frozen=True, slots=True)
class Pictures:
    """Data of the plots: memory along the context or speed by users, and loss by memory."""

    context: int | None  # requested tokens; None for models that draw
    concurrency: int
    # for the picked GPUs if they hold the model, else for quantizations
    curves: tuple[Curve, ...] = ()
    of_places: bool = False  # whether `curves` are for GPUs
    capacities: tuple[Capacity, ...] = ()
    # speeds of the picked GPUs shared by several users; drawn instead of `curves`
    users: tuple[UserSpeed, ...] = ()
    losses: tuple[LossPoint, ...] = ()
    month: MonthlyCosts | None = None  # of a rate of requests, if a provider's price is known


def pictures_of(
    study: Study,
    report: Report,
    boards: Iterable[tuple[Gpu, int]],
    places: Sequence[Ranked] = (),
) -> Pictures:
    """Return the data of a report's plots.

    `boards` are the picked GPUs, `places` the model's runs on them.
    """
    concurrency = report.workload.concurrency
    users = user_speeds(places) if concurrency > 1 else ()
    of_places = () if users else place_curves(places)
    levels = () if users or of_places else few_levels(report.estimates)
    return Pictures(
        context=report.workload.context if report.profile.pipeline is None else None,
        concurrency=concurrency,
        curves=of_places or context_curves(study, levels),
        of_places=bool(of_places),
        capacities=capacities(boards),
        users=users,
        losses=loss_points(report.estimates),
        month=monthly_costs(report.serving_plan),
    )
