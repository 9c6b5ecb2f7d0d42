"""Places of a ranking of GPUs to train on, and alternatives to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusizer.advice.alternatives import is_priced_by_rent, pick_alternatives
from gpusizer.advice.policies import ORDERS, SortKey
from gpusizer.advice.rank_reasons import bought_clauses, why_alternative
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, significant
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, PlanCosts, plan_costs
from gpusizer.speed.rate import Rate
from gpusizer.training.fit import TrainingCost, TrainingFit
from gpusizer.training.mitigations import TrainingLimits
from gpusizer.training.recommendation import TrainingScore


@dataclass(frozen=True, slots=True)
class RankedTraining:
    """One place of the ranking."""

    rank: int
    fit: TrainingFit
    rate: Rate | None
    cost: TrainingCost
    reasons: tuple[Note, ...]
    score: TrainingScore  # facts that a recommendation goes by
    largest: TrainingLimits | None = None  # only for GPUs named in the request

    @property
    def slowness(self) -> float | None:
        """Tokens/s below zero, None when unknown."""
        return None if self.rate is None else -self.rate.likely

    @property
    def costs(self) -> PlanCosts:
        """Costs to buy or rent the boards."""
        return plan_costs(self.fit.gpu, self.fit.count, None, DEFAULT_ASSUMPTIONS)

    @property
    def why(self) -> tuple[Note, ...]:
        """Reasons of its place, as clauses of one line."""
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
    """Another choice: `kind` is "cheapest" (to buy), "fastest" or "rent"."""

    kind: str
    item: RankedTraining
    first: RankedTraining

    @property
    def is_first(self) -> bool:
        """Whether the first place is the best of this kind, too."""
        return self.item.rank == self.first.rank

    @property
    def why(self) -> tuple[Note, ...]:
        """Its speed and price, and conditions of a recommendation that it misses."""
        item, score = self.item, self.item.score
        rents = is_priced_by_rent(self.kind, item.fit.gpu, item.costs)
        run = (score.cost_note,) if rents else ()
        return why_alternative((item.pace, *run), item.costs, rents, score.missed())


def alternatives_of(ranking: Sequence[RankedTraining]) -> tuple[TrainingAlternative, ...]:
    """Return alternatives to the first place (`advice/alternatives.py`)."""
    picks = pick_alternatives(ranking, ranking)
    return tuple(TrainingAlternative(kind, ranking[n], ranking[0]) for kind, n in picks.items())


# Name -> cost to minimise: to serve and to train alike, but for the rent of the run.
POLICIES: dict[str, Callable[[RankedTraining], SortKey | None]] = {
    **ORDERS,
    "cheapest": lambda item: None if item.cost.usd is None else (item.cost.usd,),
}
