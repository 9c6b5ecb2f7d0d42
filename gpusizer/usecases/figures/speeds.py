"""Speed per user by the number of users, from the functions that tables use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.run_configs import judged
from gpusizer.fit.user_speed import one_user_rate
from gpusizer.serving import load_of_users, served
from gpusizer.speed import Rate

_MOST_POINTS = 16
_MOST_USERS = 256  # per data-parallel rank; beyond it serving engines' own limits decide


@dataclass(frozen=True, slots=True)
class UserSpeed:
    """Tokens/s per user of one place, by the number of users."""

    label: str
    # by the number of users, from one to the most that surely fit
    rates: tuple[tuple[int, Rate], ...]
    most_users: int | None  # users that surely fit at once; None if the scheduler's limit is lower


def user_speeds(places: Sequence[Ranked]) -> tuple[UserSpeed, ...]:
    """Return the speeds of each place that holds the whole model for two or more users."""
    drawn = {place_name(place): place for place in places}
    found = (_user_speed(label, place) for label, place in drawn.items())
    return tuple(speed for speed in found if speed is not None and len(speed.rates) > 1)


def place_name(place: Ranked) -> str:
    """Return the boards of a place of one kind of GPU, in words."""
    fit = place.fit
    return f"{fit.count} × {fit.gpu.name}" if fit.count > 1 else fit.gpu.name


def _user_speed(label: str, place: Ranked) -> UserSpeed | None:
    config, workload = place.fit.config, place.limits.study.workload
    if not config.verdict.all_on_gpu or not config.machine.is_uniform:
        return None
    scheduled = min(_MOST_USERS, workload.max_num_seqs or _MOST_USERS) * config.estimate.split.data
    surely = int(place.most_users or 0)
    most = min(surely, scheduled)
    counts = {*user_counts(most), min(workload.concurrency, most)} - {0}
    rates = {users: _rate(place, users) for users in sorted(counts)}
    known = tuple((users, rate) for users, rate in rates.items() if rate is not None)
    return UserSpeed(label, known, surely if surely <= scheduled else None)


def _rate(place: Ranked, users: int) -> Rate | None:
    # The requested number of users has the place's own rate.
    study, fit = place.limits.study, place.fit
    if users == study.workload.concurrency:
        return place.user_rate
    at = study.with_workload(concurrency=users)
    config = judged(at, fit.machine, at.reestimate(fit.estimate))
    asked = study.requirements.load
    load = asked and replace(asked, users=users, requests_per_second=None)
    load = load or load_of_users(at.workload)
    if load is None:
        return one_user_rate(at, config)
    about = at.profile, at.workload, config.estimate, fit.gpu, fit.kv_pool_bytes
    found = served(*about, load, percentiles=False)
    return None if found is None else found.user_rate(in_turns=at.workload.takes_turns).times(1)


def user_counts(most: int) -> tuple[int, ...]:
    """Return numbers of users from 1 to `most`, closer together where curves bend.

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
