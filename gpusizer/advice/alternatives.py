"""Alternatives to the first place: the cheapest to buy, the fastest, and what to rent.

Each is the extreme of its kind among ways that one can act on today: they surely fit, on GPUs with
software support, in one computer. Each names what it gives up:

    cheapest   sold today, for that computer: may have little room, and for one user be slow
    fastest    sold or commonly rented today, in the fastest way on its card: may cost any price
    rent       rented out by several providers: misses a condition only if all of them do

Only prices of today count: no estimates, no prices of launch, none that is doubted or more than a
year old.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusizer.advice.policies import Candidate, SortKey
from gpusizer.fit.recommendation import can_be_bought, can_be_rented
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts
from gpusizer.gpus.on_offer import firm_price


def pick_alternatives(
    candidates: Sequence[Candidate], swift: Sequence[Candidate]
) -> dict[str, int]:
    """Return the position of the candidate of each kind, without kinds of unknown price or speed.

    `swift` are the fastest ways on the GPUs of the candidates, for the kind "fastest".
    """
    picks: dict[str, int] = {}
    for kind, key_of in _KEYS.items():
        among = swift if kind == "fastest" else candidates
        possible = ((place, c) for place, c in enumerate(among) if c.score.is_possible())
        keys = [(key, place) for place, c in possible if (key := key_of(c)) is not None]
        if keys:
            picks[kind] = min(keys)[1]
    return picks


def is_priced_by_rent(kind: str, gpu: Gpu, costs: PlanCosts) -> bool:
    """Whether an alternative states its rent."""
    # It is one to rent, or a provider rents it out and no price of today buys it for one computer.
    bought = can_be_bought(gpu, costs.boards, costs.today)
    return kind == "rent" or costs.buy is None or (not bought and costs.rent is not None)


def break_even_months(gpu: Gpu, bought: PlanCosts, rented: PlanCosts) -> float | None:
    """Return the months of work after which buying one plan has cost less than renting another.

    None if that never happens, a price is unknown, or the GPU is not to be bought.
    """
    if not can_be_bought(gpu, bought.boards, bought.today):
        return None
    return bought.months_until_cheaper_than(rented.rent_usd_per_hour)


def _cheapest(candidate: Candidate) -> SortKey | None:
    # US dollars of all boards, sold today for one computer; for several users slow boards come
    # last, after those of unknown speed.
    score = candidate.score
    price = firm_price(score.gpu, score.today)
    if price is None or not can_be_bought(score.gpu, score.boards, score.today):
        return None
    slow = _SLOWNESS[score.fast_enough] if score.users > 1 else 0.0
    return (slow, price.usd * score.boards)


_SLOWNESS = {True: 0.0, None: 1.0, False: 2.0}


def _fastest(candidate: Candidate) -> SortKey | None:
    # Tokens/s, or seconds of a picture, of boards in one computer that are for sale or rent.
    slowness, score = candidate.slowness, candidate.score
    if slowness is None or score.computer or score.not_on_offer:
        return None
    return (slowness,)


def _rent(candidate: Candidate) -> SortKey | None:
    # US dollars on demand, for an hour or a training. Missed conditions come last, and for many
    # users cards for a desk after those for servers.
    score = candidate.score
    at_a_desk = score.suitability.for_many and not score.gpu.is_for_servers
    if score.rent_usd is None or not can_be_rented(score.gpu, score.boards):
        return None
    return (float(not score.meets_conditions), float(at_a_desk), score.rent_usd)


_KEYS: dict[str, Callable[[Candidate], SortKey | None]] = {
    "cheapest": _cheapest,
    "fastest": _fastest,
    "rent": _rent,
}
# Names of the alternatives, in the order of the answer.
KINDS = tuple(_KEYS)
