"""Rank GPUs for a model: for each the smallest count that fits, then by a named policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.fit.advice import Suggestion
from gpusizer.fit.candidate_search import CandidateChoice, choose
from gpusizer.fit.capacity_limits import Largest
from gpusizer.fit.card_statements import statements_on
from gpusizer.fit.fit import Fit, Fitter, Verdict
from gpusizer.fit.offload import offload_notes
from gpusizer.fit.parallelism.run_plan import RunPlan
from gpusizer.fit.policies import POLICIES, RankedCandidate, SortKey, total_memory
from gpusizer.fit.rank_reasons import why
from gpusizer.fit.speed import ModelFacts, Rate, Speeds, Work, speeds, tokens_per_second
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, CostAssumptions, PlanCosts, plan_costs
from gpusizer.memory.estimate import MemoryEstimate


@dataclass(frozen=True, slots=True)
class Ranked:
    """One place in the ranking.

    Attributes:
        speeds: None where the model does not run, or generates no text.
        assumptions: what costs are reckoned with.
        rank_by: the policy that put it there, "" where the GPU was asked for by name.
        largest, advice, plans: only where the GPU was asked for by name.
    """

    rank: int
    fit: Fit
    speeds: Speeds | None
    reasons: tuple[Note, ...]
    largest: Largest | None = None
    advice: tuple[Suggestion, ...] = ()
    assumptions: CostAssumptions = DEFAULT_ASSUMPTIONS
    rank_by: str = ""
    plans: tuple[RunPlan, ...] = ()

    @property
    def tokens_per_second(self) -> float | None:
        """Likely tokens/s of all users together, None when unknown."""
        total = self.speeds.total if self.speeds else None
        return None if total is None else total.likely

    @property
    def costs(self) -> PlanCosts:
        """What the boards cost, bought or rented."""
        fit = self.fit
        return plan_costs(fit.gpu, fit.count, self.tokens_per_second, self.assumptions)

    @property
    def why(self) -> tuple[Note, ...]:
        """What puts it at its place, as clauses of one line."""
        each = self.speeds.per_user if self.speeds else None
        return why(self.fit, each, self.costs, self.rank_by)

    @property
    def decode(self) -> Rate | None:
        """Tokens/s of one user alone."""
        return self.speeds.decode if self.speeds else None

    @property
    def prefill(self) -> Rate | None:
        """Prompt tokens/s."""
        return self.speeds.prefill if self.speeds else None

    @property
    def buy_usd(self) -> float | None:
        """Price of all boards, None when the price of one is not known."""
        return self.costs.buy_usd

    @property
    def rent_usd_per_hour(self) -> float | None:
        """Likely rent of all boards for an hour, None when unknown."""
        return self.costs.rent_usd_per_hour

    @property
    def power_watts(self) -> float | None:
        """Board power of all boards, None when unknown."""
        power = self.fit.gpu.power_watts
        return None if power is None else power * self.fit.count


Speed = float | None
"""Likely tokens/s of each user, None when unknown."""

_LAST: SortKey = (math.inf,)


def rank_gpus(
    fitter: Fitter,
    catalogue: Catalogue,
    rank_by: str,
    top: int,
    *,
    assumptions: CostAssumptions = DEFAULT_ASSUMPTIONS,
    most_boards: Sequence[int | None] | None = None,
) -> tuple[Ranked, ...]:
    """GPUs on which the model runs, best first; `top` of them, or all when it is 0.

    What surely fits comes first; equal costs go by least memory, then fastest. `most_boards`
    limits the boards of each GPU of the catalogue.
    """
    choices = choose(fitter, catalogue, most_boards)
    policy, users = POLICIES[rank_by], fitter.workload.concurrency
    places = []
    for choice, speed in zip(choices, _speeds(fitter, choices), strict=True):
        candidate = RankedCandidate(choice, speed, users, assumptions)
        cost = policy(candidate) or _LAST
        memory = total_memory(candidate)
        places.append((choice.tight, cost, memory, 0.0 if speed is None else -speed))
    order = sorted(range(len(choices)), key=places.__getitem__)
    best = [choices[i] for i in order[: top or None]]
    return tuple(
        replace(
            describe(fitter, choice.gpu, choice.boards, choice.estimate, rank=place),
            assumptions=assumptions,
            rank_by=rank_by,
        )
        for place, choice in enumerate(best, start=1)
    )


def describe(fitter: Fitter, gpu: Gpu, boards: int, estimate: MemoryEstimate, rank: int) -> Ranked:
    """A ranking entry for one GPU, count and estimate."""
    fit = fitter.fit(gpu, boards, estimate)
    runs = fit.verdict.all_on_gpu  # the model assumes all layers on the GPU
    return Ranked(
        rank=rank,
        fit=fit,
        speeds=speeds(fitter.profile, fitter.workload, fit) if runs else None,
        reasons=_reasons(fitter, fit),
    )


def _speeds(fitter: Fitter, choices: Sequence[CandidateChoice]) -> list[Speed]:
    """The speed of every choice; what a step reads is computed once per estimate."""
    facts = ModelFacts.of(fitter.profile, fitter.workload)
    if facts is None:
        return [None] * len(choices)
    works: dict[int, Work] = {}
    rates = []
    for choice in choices:
        key = id(choice.estimate)
        if key not in works:
            works[key] = Work.of(facts, choice.estimate)
        rates.append(tokens_per_second(works[key], choice.gpu))
    return rates


def _reasons(fitter: Fitter, fit: Fit) -> tuple[Note, ...]:
    estimate = fit.estimate
    notes = [
        Note(
            f"verdict_{fit.verdict.value}",
            quant=estimate.quant.name,
            engine=estimate.engine.name,
            headroom_bytes=abs(fit.headroom_bytes),
            count=fit.count,
        )
    ]
    if fit.verdict is Verdict.OFFLOAD:
        notes += offload_notes(fitter, fit.gpu, estimate)
    if fit.count > 1 and not fit.gpu.fabric_joins(fit.count):
        notes.append(Note("no_fast_interconnect"))
    if fit.gpu.memory_basis == "nominal":
        notes.append(Note("usable_memory_not_observed"))
    if fit.verdict is Verdict.TIGHT:
        notes.append(Note("may_run_out"))
    return (*notes, *statements_on(fit))
