"""Everything that the page plots about one answer."""

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
from gpusizer.usecases.figures.speeds import UserSpeed, user_speeds
from gpusizer.usecases.report import Report


@dataclass(frozen=True, slots=True)
class Pictures:
    """Data of the plots: memory along the context or speed against users, and loss against memory.

    Attributes:
        context: tokens asked for; None for what draws.
        curves: of the picked GPUs if they hold the model, else of quantizations.
        of_places: whether the curves are of GPUs.
        users: speeds of the picked GPUs where several users share one; drawn instead of `curves`.
    """

    context: int | None
    concurrency: int
    curves: tuple[Curve, ...] = ()
    of_places: bool = False
    capacities: tuple[Capacity, ...] = ()
    users: tuple[UserSpeed, ...] = ()
    losses: tuple[LossPoint, ...] = ()


def pictures_of(
    study: Study,
    report: Report,
    boards: Iterable[tuple[Gpu, int]],
    places: Sequence[Ranked] = (),
) -> Pictures:
    """Return the data of a report's plots.

    `boards` are the picked GPUs, `places` how the model runs on them.
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
    )
