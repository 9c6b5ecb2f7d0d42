"""Speed against users: what a server delivers in total, and what each of its users gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gpusizer.answers.figures.shapes import Curve, Point
from gpusizer.answers.report import Report
from gpusizer.fit.fit import Fit
from gpusizer.fit.speed import speeds, work_of

_MOST_POINTS = 16
_MOST_USERS = 256  # of a data-parallel rank; beyond, serving engines' own limits decide


@dataclass(frozen=True, slots=True)
class UserSpeed:
    """Tokens per second against sequences at once; `pool_users` is where the cache is full."""

    total: Curve
    per_user: Curve
    pool_users: int | None = None


def user_speed(
    total_at: Callable[[int], float | None], most_users: int, label: str, *, full: bool = True
) -> UserSpeed:
    """From one user to `most_users`, where the pool is full unless `full` says otherwise.

    Numbers of users of which `total_at` knows no speed are left out.
    """
    speeds_at = [(users, total_at(users)) for users in user_counts(most_users)]
    points = [(users, speed) for users, speed in speeds_at if speed is not None]
    return UserSpeed(
        Curve(tuple(Point(users, speed) for users, speed in points), label),
        Curve(tuple(Point(users, speed / users) for users, speed in points), label),
        most_users if full else None,
    )


def user_speeds(report: Report, fits: Sequence[Fit]) -> tuple[UserSpeed, ...]:
    """A curve for every fit that serves text, as far as its cache holds users of the report's
    context."""
    curves = []
    for fit in fits:
        each = min(_MOST_USERS, report.workload.max_num_seqs or _MOST_USERS)
        drawn = each * fit.estimate.split.data
        most = min(int(fit.max_concurrency or 0), drawn)
        if fit.verdict.all_on_gpu and most > 1:
            label = f"{fit.count} × {fit.gpu.name}" if fit.count > 1 else fit.gpu.name
            full = most < drawn
            curves.append(user_speed(partial(_total, report, fit), most, label, full=full))
    return tuple(curves)


def _total(report: Report, fit: Fit, users: int) -> float | None:
    """Likely tokens/s of so many users together."""
    workload = replace(report.workload, concurrency=users)
    rates = speeds(work_of(report.profile, workload, fit.estimate), fit)
    return rates.total.likely if rates and rates.total else None


def user_counts(most: int) -> tuple[int, ...]:
    """Numbers of users from 1 to `most`: closer together where curves bend.

    >>> user_counts(5), user_counts(0)
    ((1, 2, 3, 4, 5), ())
    """
    if most < 1:
        return ()
    steps = _MOST_POINTS - 1
    return tuple(
        sorted(
            {round(most ** (step / steps)) for step in range(steps + 1)}
            | {round(most * step / 4) for step in (1, 2, 3, 4)} - {0}
        )
    )
