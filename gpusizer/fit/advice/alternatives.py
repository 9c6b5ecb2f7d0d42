"""What else one could choose: the cheapest to buy, the fastest, and what to rent.

Each is the extreme of its kind among ways that one can act on today: they surely fit, on GPUs whose
software lives on, in one computer. Each gives something up, and says so:

    cheapest   sold today, for that computer: may have little room, and for one user be slow
    fastest    sold or commonly rented today, in the fastest way on its card: may cost any price
    rent       rented out by several providers: misses a condition only where all of them do

Only prices of today count: no estimates, no prices of launch, none that is doubted or more than a
year old.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from gpusizer.fit.advice.policies import RankedCandidate, SortKey
from gpusizer.fit.advice.recommendation import can_be_bought, can_be_rented
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts, rent_usd_per_hour
from gpusizer.gpus.on_offer import ended_support, firm_price


def pick_alternatives(
    candidates: Sequence[RankedCandidate], swift: Sequence[RankedCandidate]
) -> dict[str, int]:
    """Kind -> position of its candidate; a kind is left out where no price or speed is known.

    `swift` are the fastest ways on the GPUs of the candidates, between which the fastest is.
    """
    picks: dict[str, int] = {}
    for kind, key_of in _KEYS.items():
        among = swift if kind == "fastest" else candidates
        keys = [(key, place) for place, c in _possible(among) if (key := key_of(c)) is not None]
        if keys:
            picks[kind] = min(keys)[1]
    return picks


def _possible(candidates: Sequence[RankedCandidate]) -> list[tuple[int, RankedCandidate]]:
    return [
        (place, candidate)
        for place, candidate in enumerate(candidates)
        if candidate.way.verdict is not Verdict.TIGHT
        and ended_support(candidate.way.gpu) is None
        and candidate.score.stands_beside
    ]


def is_priced_by_rent(kind: str, gpu: Gpu, costs: PlanCosts) -> bool:
    """Whether an alternative states its rent: it is one to rent, or nobody can buy it for one
    computer at a price of today, and somebody rents it out.
    """
    bought = can_be_bought(gpu, costs.boards, costs.today)
    return kind == "rent" or costs.buy is None or (not bought and costs.rent is not None)


def break_even_months(gpu: Gpu, bought: PlanCosts, rented: PlanCosts) -> float | None:
    """Months of work at the assumed hours after which buying one plan has cost less than renting
    another; None when that never happens, a price is unknown, or the GPU is not to be bought.
    """
    if not can_be_bought(gpu, bought.boards, bought.today):
        return None
    return bought.months_until_cheaper_than(rented.rent_usd_per_hour)


def _cheapest(candidate: RankedCandidate) -> SortKey | None:
    """US dollars; of several users, after those that each of them has speed enough on, and then
    those of unknown speed."""
    way = candidate.way
    price = price_to_buy(way.gpu, way.boards, candidate.costs.today)
    several = way.estimate.placement.workload.concurrency > 1
    slow = _SLOWNESS[candidate.score.fast_enough] if several else 0.0
    return None if price is None else (slow, *price)


_SLOWNESS = {True: 0.0, None: 1.0, False: 2.0}


def price_to_buy(gpu: Gpu, boards: int, today: date) -> SortKey | None:
    """US dollars of all boards that are sold today for one computer."""
    price = firm_price(gpu, today)
    if price is None or not can_be_bought(gpu, boards, today):
        return None
    return (price.usd * boards,)


def _fastest(candidate: RankedCandidate) -> SortKey | None:
    """Tokens/s, or seconds of a picture, of boards in one computer that somebody sells or rents."""
    slowness, score = candidate.slowness, candidate.score
    if slowness is None or score.computer or score.not_on_offer:
        return None
    return (slowness,)


def _rent(candidate: RankedCandidate) -> SortKey | None:
    """US dollars for an hour on demand; what misses a condition comes last, and for many users
    cards for a desk after those for servers."""
    gpu, boards = candidate.way.gpu, candidate.way.boards
    at_a_desk = candidate.score.suitability.for_many and not gpu.is_for_servers
    usd = rent_usd_per_hour(gpu)
    if usd is None or not can_be_rented(gpu, boards):
        return None
    return (float(not candidate.score.meets_conditions), float(at_a_desk), usd * boards)


_KEYS: dict[str, Callable[[RankedCandidate], SortKey | None]] = {
    "cheapest": _cheapest,
    "fastest": _fastest,
    "rent": _rent,
}
KINDS = tuple(_KEYS)
"""Names of the alternatives, in the order of the answer."""
