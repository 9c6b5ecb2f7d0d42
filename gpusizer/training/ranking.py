"""Places of a ranking of GPUs to train on, their order, and what else one could choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, significant
from gpusizer.fit.advice.alternatives import is_priced_by_rent, price_to_buy
from gpusizer.fit.advice.policies import SortKey
from gpusizer.fit.advice.rank_reasons import bought_clauses, rented_clause
from gpusizer.fit.advice.recommendation import can_be_rented
from gpusizer.fit.speed.rate import Rate
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, PlanCosts, plan_costs
from gpusizer.training.fit import TrainingCost, TrainingFit
from gpusizer.training.ladder import Most
from gpusizer.training.recommendation import TrainingScore


@dataclass(frozen=True, slots=True)
class RankedTraining:
    """One place of the ranking.

    Attributes:
        score: what a recommendation goes by.
        largest: only for GPUs named in the request.
        rank_by: the policy that put it there, "" where the GPU was asked for by name.
    """

    rank: int
    fit: TrainingFit
    rate: Rate | None
    cost: TrainingCost
    reasons: tuple[Note, ...]
    score: TrainingScore
    largest: Most | None = None
    rank_by: str = ""

    @property
    def costs(self) -> PlanCosts:
        """What the boards cost to buy or rent."""
        return plan_costs(self.fit.gpu, self.fit.count, None, DEFAULT_ASSUMPTIONS)

    @property
    def why(self) -> tuple[Note, ...]:
        """What puts it at its place, as clauses of one line."""
        spare = significant(abs(self.fit.headroom_bytes) / GB)
        room = Note(f"why_train_{self.fit.verdict.value}", gb=spare)
        return (room, self.pace, *self.score.notes(), *bought_clauses(self.costs))

    @property
    def pace(self) -> Note:
        """Tokens/s and hours of the run."""
        if self.rate is None or self.cost.hours is None:
            return Note("why_speed_unknown")
        return Note("why_train_speed", tokens=self.rate.likely, hours=self.cost.hours)


@dataclass(frozen=True, slots=True)
class TrainingAlternative:
    """What else one could choose: `kind` is "cheapest" (to buy), "fastest" or "rent"."""

    kind: str
    item: RankedTraining
    first: RankedTraining

    @property
    def is_first(self) -> bool:
        """Whether the first place is the best of this kind, too."""
        return self.item.rank == self.first.rank

    @property
    def why(self) -> tuple[Note, ...]:
        """Its speed and price, and what it misses of a recommendation."""
        costs = self.item.costs
        rents = is_priced_by_rent(self.kind, self.item.fit.gpu, costs)
        prices = (rented_clause(costs),) if rents else bought_clauses(costs)
        run = (self.item.score.cost_note,) if rents else ()
        score = self.item.score
        return (self.item.pace, *run, *prices, *score.missed())


def in_order(items: Sequence[RankedTraining], rank_by: str) -> tuple[RankedTraining, ...]:
    """GPUs ranked by a policy: what surely fits leads; equal costs go by memory, then by speed."""

    def place(item: RankedTraining) -> tuple[bool, SortKey, SortKey]:
        tight = item.fit.verdict is Verdict.TIGHT
        return tight, _COSTS[rank_by](item), (*_memory(item), *_slowness(item))

    ordered = enumerate(sorted(items, key=place), start=1)
    return tuple(replace(item, rank=rank, rank_by=rank_by) for rank, item in ordered)


def alternatives_of(ranking: Sequence[RankedTraining]) -> tuple[TrainingAlternative, ...]:
    """The cheapest to buy, the fastest and the cheapest to rent, of those that surely fit on GPUs
    whose software lives on and that train well, in one computer
    (`fit/advice/alternatives.py`); kinds that nothing is known of are left out.
    """
    fit = [
        item
        for item in ranking
        if item.fit.verdict is Verdict.FITS
        and item.score.ended_support is None
        and item.score.trains is not False
        and (item.score.kept_back is None or item.score.kept_back.beside)
    ]
    alternatives = []
    for kind, key_of in _ALTERNATIVES.items():
        known = [(key, item) for item in fit if (key := key_of(item)) is not None]
        if known:
            _, best = min(known, key=lambda pair: pair[0])
            alternatives.append(TrainingAlternative(kind, best, ranking[0]))
    return tuple(alternatives)


def _memory(item: RankedTraining) -> SortKey:
    return (float(item.fit.gpu.memory_bytes * item.fit.count),)


def _slowness(item: RankedTraining) -> SortKey:
    return (-item.rate.likely if item.rate else 0.0,)


_COSTS: dict[str, Callable[[RankedTraining], SortKey]] = {
    "recommended": lambda item: item.score.key,
    "smallest": _memory,
    "cheapest": lambda item: (math.inf if item.cost.usd is None else item.cost.usd,),
    "fastest": _slowness,
}
"""Policy -> what is least for the best."""


def _pace(item: RankedTraining) -> SortKey | None:
    """Tokens/s of boards in one computer that somebody sells or rents out."""
    known = item.rate is not None and not item.score.not_on_offer and not item.score.computer
    return _slowness(item) if known else None


def _rent(item: RankedTraining) -> SortKey | None:
    """US dollars of the run; what misses a condition comes last."""
    if item.cost.usd is None or not can_be_rented(item.fit.gpu, item.fit.count):
        return None
    return (float(bool(item.score.missed())), item.cost.usd)


_ALTERNATIVES: dict[str, Callable[[RankedTraining], SortKey | None]] = {
    "cheapest": lambda item: price_to_buy(item.fit.gpu, item.fit.count, item.costs.today),
    "fastest": _pace,
    "rent": _rent,
}
