"""RunsOn: a row of the answer to what a card or a machine runs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.answers.models_for.ordering import Family
from gpusizer.answers.models_for.search import Runs
from gpusizer.fit.fit import Fit
from gpusizer.fit.one_user import one_prompt_rate, one_user_rate
from gpusizer.fit.speed import Rate


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A family that runs, what fits beside its head, and how fast that is."""

    rank: int
    family: Family
    fit: Fit
    decode: Rate | None
    prefill: Rate | None

    @classmethod
    def of(cls, rank: int, family: Family) -> RunsOn:
        """The row of a family, with the figures that only shown rows have."""
        study, way = family.head.study, family.head.way
        fit = Fit.of(study, way)
        return cls(rank, family, fit, one_user_rate(study, way), one_prompt_rate(study, way))

    @property
    def runs(self) -> Runs:
        """The model that stands for the family."""
        return self.family.head

    @property
    def context(self) -> int:
        """Tokens of each sequence."""
        return self.runs.study.workload.context
