"""Price against speed: every ranked GPU with a price, and those that nothing cheaper outruns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gpusizer.fit.ranking import Ranked
from gpusizer.gpus.costs import PlanCosts

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
    price = item.buy_usd if kind == "buy" else item.rent_usd_per_hour
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
