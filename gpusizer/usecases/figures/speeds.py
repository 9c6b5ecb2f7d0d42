"""Speed and waits against users: what a server delivers in total, what each of its users gets, and
when the first token comes, by the model of a server (`serving`). And price against speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.demands import ServingLoad
from gpusizer.fit.fit import Fit, sequences_held
from gpusizer.fit.study import Study
from gpusizer.gpus.costs import PlanCosts
from gpusizer.serving import load_of_users, served
from gpusizer.usecases.figures.memory import Curve, Point

_MOST_POINTS = 16
_MOST_USERS = 256  # of a data-parallel rank; beyond, serving engines' own limits decide


@dataclass(frozen=True, slots=True)
class UserSpeed:
    """What users at once mean on one server.

    Attributes:
        total, per_user: answer tokens per second, prompts read in between.
        first_token: mean seconds.
        pool_users: where the cache is full.
        knee: where the rate over the time of an answer is the most: more users cost more wait than
            they bring tokens (L. Kleinrock, "Power and deterministic rules of thumb for
            probabilistic problems in computer communications", ICC 1979). None where the cache is
            full before.
    """

    total: Curve
    per_user: Curve
    first_token: Curve
    pool_users: int | None = None
    knee: Point | None = None


Serves = Callable[[int], tuple[float, float | None] | None]
"""Number of users -> answer tokens per second of all, and mean seconds to the first token."""


def user_speed(serve: Serves, most_users: int, label: str, *, full: bool = True) -> UserSpeed:
    """From one user to `most_users`, where the pool is full unless `full` says otherwise.

    Numbers of users of which `serve` knows nothing are left out.
    """
    answers = {n: answer for n in user_counts(most_users) if (answer := serve(n)) is not None}
    rates = {n: rate for n, (rate, _) in answers.items()}
    waits = {n: wait for n, (_, wait) in answers.items() if wait is not None}
    total = _curve(rates, label)
    # The time of an answer is users x tokens / rate, so that rate / time goes with rate^2 / users.
    knee = max(total.points, key=lambda point: point.y**2 / point.x, default=None)
    return UserSpeed(
        total,
        _curve({n: rate / n for n, rate in rates.items()}, label),
        _curve(waits, label),
        most_users if full else None,
        None if knee is None or knee == total.points[-1] else knee,
    )


def _curve(values: dict[int, float], label: str) -> Curve:
    return Curve(tuple(Point(users, value) for users, value in values.items()), label)


def user_speeds(study: Study, fits: Sequence[Fit]) -> tuple[UserSpeed, ...]:
    """A curve for every fit that serves text, as far as its cache holds users, for the stated
    lengths of a request, else the study's context with a usual part of it as the prompt."""
    workload = study.workload
    lengths = study.demands.load or load_of_users(replace(workload, concurrency=2))
    if lengths is None:
        return ()
    of_length = study.under(context=lengths.prompt + lengths.answer)
    curves = []
    for fit in fits:
        each = min(_MOST_USERS, workload.max_num_seqs or _MOST_USERS)
        drawn = each * fit.estimate.split.data
        most = min(_users_held(of_length, fit), drawn)
        if fit.verdict.all_on_gpu and most > 1:
            label = f"{fit.count} × {fit.gpu.name}" if fit.count > 1 else fit.gpu.name
            serve = _server(study, fit, lengths)
            curves.append(user_speed(serve, most, label, full=most < drawn))
    return tuple(curves)


def _users_held(of_length: Study, fit: Fit) -> int:
    """Users whose whole requests the caches of all ranks hold at once."""
    held = sequences_held(of_length, of_length.again(fit.estimate), fit.kv_pool_bytes) or 0
    return int(held * fit.estimate.split.data)


def _server(study: Study, fit: Fit, lengths: ServingLoad) -> Serves:
    """What a fit does for a number of users who each wait for their answer."""

    def serve(users: int) -> tuple[float, float | None] | None:
        load = replace(lengths, users=users, requests_per_second=None)
        about = study.profile, study.workload, fit.estimate, fit.gpu, fit.kv_pool_bytes
        found = served(*about, load, percentiles=False)
        if found is None:
            return None
        wait = found.ttft_seconds
        return found.output_tokens_per_second.likely, None if wait is None else wait.likely

    return serve


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


Kind = Literal["buy", "rent"]
_FAR = 4.0  # a frontier's next price this many times higher would flatten all before it
_FEWEST = 3  # frontier points that a picture keeps at least
_ROOM = 1.5  # the picture ends this far beyond the last frontier point it keeps


@dataclass(frozen=True, slots=True)
class Offer:
    """One ranked GPU: what all its boards cost and how fast one user is answered.

    Attributes:
        detail: what runs on it.
        frontier: nothing as cheap or cheaper is as fast.
        costs: what the price stands on.
    """

    label: str
    detail: str
    price_usd: float
    tokens_per_second: float
    frontier: bool = False
    costs: PlanCosts | None = None


@dataclass(frozen=True, slots=True)
class PriceSpeed:
    """Offers by rising price; `limit_usd` is where a picture from zero should end."""

    kind: Kind
    offers: tuple[Offer, ...]
    limit_usd: float

    @property
    def frontier(self) -> tuple[Offer, ...]:
        return tuple(offer for offer in self.offers if offer.frontier)


def price_speed(ranking: Iterable[Ranked], kind: Kind) -> PriceSpeed:
    """Of a whole ranking the GPUs whose price and speed are both known."""
    offers = [offer for item in ranking if (offer := _offer(item, kind)) is not None]
    marked = mark_frontier(offers)
    return PriceSpeed(kind, marked, limit(marked))


def _offer(item: Ranked, kind: Kind) -> Offer | None:
    price = item.costs.buy_usd if kind == "buy" else item.costs.rent_usd_per_hour
    if not price or item.decode is None or not item.decode.likely:
        return None
    fit = item.fit
    name = f"{fit.count} × {fit.gpu.name}" if fit.count > 1 else fit.gpu.name
    how = f"{fit.estimate.quant.name} · {fit.estimate.engine.name}"
    return Offer(name, how, price, item.decode.likely, costs=item.costs)


def mark_frontier(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Points by rising price; the frontier has those faster than all cheaper ones."""
    fastest = 0.0
    marked = []
    for offer in sorted(offers, key=lambda o: (o.price_usd, -o.tokens_per_second)):
        marked.append(replace(offer, frontier=offer.tokens_per_second > fastest))
        fastest = max(fastest, offer.tokens_per_second)
    return tuple(marked)


def limit(offers: Sequence[Offer]) -> float:
    """The dearest price worth drawing: a little beyond the frontier, before its first wide gap."""
    if not offers:
        return 0.0
    prices = [offer.price_usd for offer in offers if offer.frontier]
    end = prices[-1]
    for count, (price, following) in enumerate(pairwise(prices), start=1):
        if count >= _FEWEST and following > _FAR * price:
            end = price
            break
    return min(end * _ROOM, offers[-1].price_usd)
