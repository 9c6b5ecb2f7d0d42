"""Rank GPUs for a model: for each the smallest count that fits, then by a named policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.fit.advice import Suggestion
from gpusizer.fit.alternatives import break_even_months, is_priced_by_rent, pick_alternatives
from gpusizer.fit.candidate_search import CandidateChoice, choose
from gpusizer.fit.capacity_limits import Largest
from gpusizer.fit.card_statements import statements_on
from gpusizer.fit.fit import (
    Fit,
    Fitter,
    Verdict,
    headroom_on,
    keeps_part_in_memory,
    memory_of,
)
from gpusizer.fit.offload import offload_notes
from gpusizer.fit.parallelism.run_plan import RunPlan
from gpusizer.fit.policies import POLICIES, RankedCandidate, SortKey, total_memory
from gpusizer.fit.rank_reasons import why, why_alternative
from gpusizer.fit.recommendation import READING_SPEED, SPARE_SHARE, Score, score_of
from gpusizer.fit.speculative_speeds import SpeculativeSpeeds, speculative_speeds
from gpusizer.fit.speed import ModelFacts, Rate, Speeds, Work, speeds, tokens_per_second
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.costs import (
    DEFAULT_ASSUMPTIONS,
    CostAssumptions,
    LoadTimes,
    PlanCosts,
    load_times,
    plan_costs,
)
from gpusizer.memory.estimate import MemoryEstimate


@dataclass(frozen=True, slots=True)
class Ranked:
    """One place in the ranking.

    Attributes:
        speeds: None where the model does not run, or generates no text.
        assumptions: what costs are reckoned with.
        rank_by: the policy that put it there, "" where the GPU was asked for by name.
        enough: tokens/s that each user should see.
        speculation: speeds with the tokens that a draft model guesses, None without one.
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
    enough: float = READING_SPEED
    speculation: SpeculativeSpeeds | None = None

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
    def load_times(self) -> LoadTimes:
        """Minutes until the files are downloaded, and read from a disk."""
        stored, assumed = self.fit.estimate.stored_bytes, self.assumptions
        return load_times(stored, assumed.disk_gb_per_s, assumed.network_gbit_per_s)

    @property
    def why(self) -> tuple[Note, ...]:
        """What puts it at its place, as clauses of one line."""
        notes = self.score.notes() if self.rank_by == RECOMMENDED else ()
        return why(self.fit, self._each, self.costs, self.rank_by, notes)

    @property
    def score(self) -> Score:
        """What a recommendation goes by."""
        fit, each = self.fit, self._each
        memory = memory_of(fit.estimate.engine, fit.gpu)
        roomy = headroom_on(fit.gpu, fit.estimate) >= SPARE_SHARE * memory
        speed = None if each is None else each.likely
        room = fit.verdict is Verdict.FITS and roomy
        return score_of(fit.gpu, room, speed, self.enough, self.costs)

    @property
    def _each(self) -> Rate | None:
        """Tokens/s of each of the workload's users."""
        return self.speeds.per_user if self.speeds else None

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


@dataclass(frozen=True, slots=True)
class Alternative:
    """What else one could choose instead of the first place.

    Attributes:
        kind: one of `alternatives.KINDS`.
        item: its place in the ranking, which may be the first.
        first: the first place.
    """

    kind: str
    item: Ranked
    first: Ranked

    @property
    def is_first(self) -> bool:
        """Whether the first place is the best of this kind, too."""
        return self.item.rank == self.first.rank

    @property
    def break_even_months(self) -> float | None:
        """Months after which buying the first place has cost less than renting this one."""
        return break_even_months(self.first.fit.gpu, self.first.costs, self.item.costs)

    @property
    def why(self) -> tuple[Note, ...]:
        """Its price or speed, and what it misses of a recommendation, as clauses of one line."""
        item = self.item
        months = self.break_even_months if self.kind == "rent" else None
        rents = is_priced_by_rent(self.kind, item.fit.gpu, item.costs)
        return why_alternative(item.decode, item.costs, rents, item.score.missed(), months)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Places of a ranking, best first, and alternatives to the first.

    Attributes:
        slower: plans left out because each user would see fewer tokens/s than asked for.
    """

    places: tuple[Ranked, ...]
    alternatives: tuple[Alternative, ...] = ()
    slower: int = 0


RECOMMENDED = "recommended"

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
    min_tok_s: float | None = None,
) -> Ranking:
    """GPUs on which the model runs, best first; `top` of them, or all when it is 0.

    What surely fits comes first; equal costs go by least memory, then fastest. `most_boards`
    limits the boards of each GPU of the catalogue, `min_tok_s` leaves out plans known to be
    slower for each user.
    """
    spare_share = SPARE_SHARE if rank_by == RECOMMENDED else 0.0
    choices = choose(fitter, catalogue, most_boards, spare_share)
    enough, users = min_tok_s or READING_SPEED, fitter.workload.concurrency
    every = [
        RankedCandidate(choice, speed, users, assumptions, enough)
        for choice, speed in zip(choices, _speeds(fitter, choices), strict=True)
    ]
    fast = [c for c in every if not min_tok_s or c.speed is None or c.speed >= min_tok_s]
    candidates = sorted(fast, key=lambda candidate: _place(candidate, rank_by))

    def ranked(place: int) -> Ranked:
        choice = candidates[place].choice
        entry = describe(fitter, choice.gpu, choice.boards, choice.estimate, rank=place + 1)
        return replace(entry, assumptions=assumptions, rank_by=rank_by, enough=enough)

    places = tuple(map(ranked, range(len(candidates))[: top or None]))
    alternatives = tuple(
        Alternative(kind, places[place] if place < len(places) else ranked(place), places[0])
        for kind, place in pick_alternatives(candidates).items()
    )
    return Ranking(places, alternatives, len(every) - len(fast))


def _place(candidate: RankedCandidate, rank_by: str) -> tuple[bool, SortKey, SortKey, float]:
    """Sort key of a policy."""
    cost = POLICIES[rank_by](candidate) or _LAST
    slowness = 0.0 if candidate.speed is None else -candidate.speed
    return candidate.choice.tight, cost, total_memory(candidate), slowness


def describe(fitter: Fitter, gpu: Gpu, boards: int, estimate: MemoryEstimate, rank: int) -> Ranked:
    """A ranking entry for one GPU, count and estimate."""
    fit = fitter.fit(gpu, boards, estimate)
    runs = fit.verdict.all_on_gpu  # the model assumes all layers on the GPU
    return Ranked(
        rank=rank,
        fit=fit,
        speeds=speeds(fitter.profile, fitter.workload, fit) if runs else None,
        reasons=_reasons(fitter, fit),
        speculation=speculative_speeds(fitter.profile, fitter.workload, fit) if runs else None,
    )


def _speeds(fitter: Fitter, choices: Sequence[CandidateChoice]) -> list[Speed]:
    """The speed of every choice; what a step reads is computed once per estimate."""
    facts = ModelFacts.of(fitter.profile, fitter.workload)
    if facts is None:
        return [None] * len(choices)
    works: dict[int, Work] = {}
    rates: list[Speed] = []
    for choice in choices:
        key = id(choice.estimate)
        if keeps_part_in_memory(fitter.profile, fitter.workload, choice.estimate):
            rates.append(None)
            continue
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
    in_part = keeps_part_in_memory(fitter.profile, fitter.workload, estimate)
    if fit.verdict.all_on_gpu and in_part:
        notes.append(Note("part_speed_unknown"))
    if fit.count > 1 and not fit.gpu.fabric_joins(fit.count):
        notes.append(Note("no_fast_interconnect"))
    if fit.gpu.memory_basis == "nominal":
        notes.append(Note("usable_memory_not_observed"))
    if fit.verdict is Verdict.TIGHT:
        notes.append(Note("may_run_out"))
    return (*notes, *statements_on(fit))
