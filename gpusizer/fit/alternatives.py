"""What else one could choose: the cheapest to buy, the fastest, and what to rent.

Each is the extreme of its kind among the ways that surely fit on GPUs whose software lives on,
whatever else it misses of a recommendation; the reasons say what that is. Only prices of today
count: no estimates, no prices of launch, none that is doubted or more than a year old.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusizer.fit.policies import RankedCandidate, SortKey
from gpusizer.fit.recommendation import computer_of
from gpusizer.gpus.costs import rent_usd_per_hour
from gpusizer.gpus.on_offer import firm_price, why_not_on_offer
from gpusizer.gpus.purchase import current_day
from gpusizer.gpus.support import ended_support


def pick_alternatives(candidates: Sequence[RankedCandidate]) -> dict[str, int]:
    """Kind -> position of its candidate; a kind is left out where no price or speed is known."""
    picks: dict[str, int] = {}
    for kind, key_of in _KEYS.items():
        keys = {
            place: key
            for place, candidate in enumerate(candidates)
            if not candidate.choice.tight
            and ended_support(candidate.choice.gpu) is None
            and (key := key_of(candidate)) is not None
        }
        if keys:
            picks[kind] = min(keys, key=keys.__getitem__)
    return picks


def _cheapest(candidate: RankedCandidate) -> SortKey | None:
    """US dollars of all boards."""
    price = firm_price(candidate.choice.gpu, current_day())
    return None if price is None else (price.usd * candidate.choice.boards,)


def _fastest(candidate: RankedCandidate) -> SortKey | None:
    """Tokens/s of boards in one computer that somebody sells or rents out."""
    gpu = candidate.choice.gpu
    if candidate.speed is None or computer_of(gpu, candidate.choice.boards):
        return None
    return None if why_not_on_offer(gpu, current_day()) else (-candidate.speed,)


def _rent(candidate: RankedCandidate) -> SortKey | None:
    """US dollars for an hour on demand; what misses a condition comes last."""
    usd = rent_usd_per_hour(candidate.choice.gpu)
    if usd is None:
        return None
    return (float(not candidate.score.recommendable), usd * candidate.choice.boards)


_KEYS: dict[str, Callable[[RankedCandidate], SortKey | None]] = {
    "cheapest": _cheapest,
    "fastest": _fastest,
    "rent": _rent,
}
KINDS = tuple(_KEYS)
"""Names of the alternatives, in the order of the answer."""
