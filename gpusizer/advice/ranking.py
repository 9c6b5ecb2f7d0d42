"""Ranking of GPUs for a model: for each the smallest count that fits, then by a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from gpusizer.advice.alternatives import break_even_months, is_priced_by_rent, pick_alternatives
from gpusizer.advice.candidates import (
    FASTEST,
    candidates_of,
    evidence_of,
    in_groups,
    served_users,
    swiftest,
)
from gpusizer.advice.capacity_limits import Largest, SureLimits
from gpusizer.advice.next_steps import Suggestion
from gpusizer.advice.parallelism_plans import RunPlan
from gpusizer.advice.policies import POLICIES, RankedCandidate, SortKey, in_order
from gpusizer.advice.quant_tradeoff import quant_tradeoff
from gpusizer.advice.rank_reasons import pace_clause, why, why_alternative
from gpusizer.core.messages import Note
from gpusizer.fit.audience import Suitability
from gpusizer.fit.fit import Fit
from gpusizer.fit.part_speed import system_memory
from gpusizer.fit.picture_time import picture_seconds
from gpusizer.fit.placement.from_disk import disk_notes
from gpusizer.fit.platforms import setup_of
from gpusizer.fit.preference_key import beyond
from gpusizer.fit.recommendation import SUITS_ONE, Score, score_of
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.fit.run_config import RunConfig, statements_on
from gpusizer.fit.run_configs import keeps_part_in_memory
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import (
    SpeedEvidence,
    heard_rate,
    one_prompt_rate,
    one_user_rate,
    read_rate,
    user_speed,
    work_at,
)
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Catalogue
from gpusizer.gpus.costs import (
    DEFAULT_ASSUMPTIONS,
    CostAssumptions,
    LoadTimes,
    PlanCosts,
    load_times,
    plan_costs,
)
from gpusizer.gpus.on_offer import is_available
from gpusizer.memory.workload import Workload
from gpusizer.serving import Served
from gpusizer.speed import Rate, Speeds, speeds
from gpusizer.speed.speculation import SpeculativeSpeeds, speculative_speeds


@dataclass(frozen=True)
class Ranked:
    """One place in the ranking."""

    # Without `slots`, because costs and score are cached properties.
    rank: int  # from 1; 0 for a way that is not among the places of the answer
    fit: Fit
    # The longest context and the most users that surely fit. They follow from the fit, and hold a
    # study with its budget of time, so that they do not count in comparisons.
    limits: SureLimits = field(compare=False)
    speeds: Speeds | None  # None if the model does not run, or generates no text
    reasons: tuple[Note, ...]
    # largest, advice, plans: only for a GPU that was named
    largest: Largest | None = None
    advice: tuple[Suggestion, ...] = ()
    assumptions: CostAssumptions = DEFAULT_ASSUMPTIONS
    rank_by: str = ""  # the policy of the ranking, "" for a GPU that was named
    plans: tuple[RunPlan, ...] = ()
    enough: float = READING_SPEED  # tokens/s that each user should see
    speculation: SpeculativeSpeeds | None = None  # speeds with a draft model, None without one
    served: Served | None = None  # several users together, by the model of a server; None for one
    # part_decode, part_prefill: tokens/s of one user and of one prompt for layers on unlike devices
    # or in system memory
    part_decode: Rate | None = None
    part_prefill: Rate | None = None
    read: Rate | None = None  # tokens/s that an embedding or reranking model reads, None for others
    heard: Rate | None = None  # seconds of sound per second of speech recognition, None for others
    drawn: Rate | None = None  # seconds of a picture or clip, None for others
    weighed: tuple[Note, ...] = ()  # what decided for the quantization; a part of the reasons
    evidence: SpeedEvidence | None = None
    suitability: Suitability = SUITS_ONE

    @property
    def tokens_per_second(self) -> float | None:
        """Likely tokens/s of all users together, None if unknown."""
        # With the prompts that are read in between, if a server was modelled.
        if self.served is not None:
            return self.served.output_tokens_per_second.likely
        total = self.speeds.total if self.speeds else None
        return None if total is None else total.likely

    @cached_property
    def costs(self) -> PlanCosts:
        """Costs of the boards, bought or rented."""
        fit = self.fit
        drawn = None if self.drawn is None else self.drawn.likely
        return plan_costs(
            fit.gpu,
            fit.count,
            self.tokens_per_second,
            self.assumptions,
            seconds_per_picture=drawn,
            users=self._users,
        )

    @property
    def _users(self) -> int | None:
        if self.served is not None:
            return max(1, round(self.served.users))
        return self.speeds.users if self.speeds else None

    @property
    def load_times(self) -> LoadTimes:
        """Minutes until the files are downloaded, and read from a disk."""
        stored, assumed = self.fit.estimate.stored_bytes, self.assumptions
        return load_times(stored, assumed.disk_gb_per_s, assumed.network_gbit_per_s)

    @property
    def why(self) -> tuple[Note, ...]:
        """Reasons for its place, as clauses of one line."""
        notes = self.score.notes() if self.rank_by == RECOMMENDED else ()
        return why(self.fit, self.pace, self.costs, self.rank_by, notes)

    @property
    def pace(self) -> Note:
        """Speed as a clause."""
        return pace_clause(self.user_rate, self.read, self.heard, self.drawn)

    @cached_property
    def score(self) -> Score:
        """Facts for a recommendation."""
        speed = None if self.user_rate is None else self.user_rate.likely
        config = self.fit.config
        return score_of(config, speed, self.enough, self.costs, self.evidence, self.suitability)

    @property
    def decode_per_user(self) -> Rate | None:
        """Decode speed per user in tokens/s; None for speech recognition."""
        return self.speeds.per_user if self.speeds and self.heard is None else None

    @property
    def user_rate(self) -> Rate | None:
        """Tokens/s that each user gets; of users who take turns, while one is served."""
        # With the prompts that are read in between, if a server was modelled.
        if self.served is None:
            return self.decode_per_user
        return self.served.user_rate(in_turns=self.workload.takes_turns).times(1)

    @property
    def workload(self) -> Workload:
        """Workload of its estimate, with the scheduler's limit if users take turns."""
        return self.fit.estimate.placement.workload

    @property
    def decode(self) -> Rate | None:
        """Tokens/s of one user alone; None for speech recognition."""
        if self.heard is not None:
            return None
        return self.speeds.decode if self.speeds else self.part_decode

    @property
    def prefill(self) -> Rate | None:
        """Prompt tokens/s."""
        return self.speeds.prefill if self.speeds else self.part_prefill

    @property
    def longest_context(self) -> int | None:
        """Tokens that surely fit for one user alone."""
        return self.limits.context

    @property
    def most_users(self) -> float | None:
        """Sequences of the requested context that surely fit at once."""
        return self.limits.users

    @property
    def power_watts(self) -> float | None:
        """Board power of all boards, None if unknown."""
        power = self.fit.gpu.power_watts
        return None if power is None else power * self.fit.count


@dataclass(frozen=True, slots=True)
class Alternative:
    """A choice instead of the first place."""

    kind: str  # one of `alternatives.KINDS`
    item: Ranked  # its place in the ranking, which may be the first
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
        """Price or speed, and the conditions that it misses, as clauses of one line."""
        item = self.item
        months = self.break_even_months if self.kind == "rent" else None
        rents = is_priced_by_rent(self.kind, item.fit.gpu, item.costs)
        return why_alternative((item.pace,), item.costs, rents, item.score.missed(), months)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Places of a ranking, best first, and alternatives to the first."""

    places: tuple[Ranked, ...]
    alternatives: tuple[Alternative, ...] = ()
    slower: int = 0  # number of plans left out because each user would see too few tokens/s
    lossier: int = 0  # number of plans left out because others stay within `max_loss`


RECOMMENDED = "recommended"


def rank_gpus(
    study: Study,
    catalogue: Catalogue,
    rank_by: str,
    top: int,
    *,
    assumptions: CostAssumptions = DEFAULT_ASSUMPTIONS,
    most_boards: Sequence[int | None] | None = None,
    min_tok_s: float | None = None,
) -> Ranking:
    """Return GPUs on which the model runs, best first; `top` of them, or all if it is 0.

    `most_boards` limits the boards of each GPU of the catalogue, `min_tok_s` leaves out plans known
    to be slower for each user.
    """
    enough = min_tok_s or READING_SPEED
    limits = [None] * len(catalogue.gpus) if most_boards is None else [n or 0 for n in most_boards]
    offers = tuple(zip(catalogue.gpus, limits, strict=True))
    may_stop = rank_by == RECOMMENDED and top > 0 and not min_tok_s
    every: list[RankedCandidate] = []
    for some, least_later in in_groups(study, offers):
        every += candidates_of(study, some, rank_by, assumptions, enough)
        # Later groups are tried if the ways that come before all of theirs do not fill the places.
        if may_stop and sum(_precedes(study, each, least_later) for each in every) >= top:
            break
    fast = [c for c in every if not min_tok_s or c.speed is None or c.speed >= min_tok_s]
    fair = [c for c in fast if not beyond(study, c.config)] or fast
    candidates = in_order(fair, POLICIES[rank_by])
    # GPUs of later groups are not counted: not all of them are weighed.
    lossier = sum(_counts(c, rank_by) for c in fast) - sum(_counts(c, rank_by) for c in fair)

    swift, shown = swiftest(study, candidates), top or len(candidates)

    def ranked(place: int, candidate: RankedCandidate) -> Ranked:
        return replace(
            describe(study, candidate.config, rank=place + 1 if place < shown else 0),
            assumptions=assumptions,
            rank_by=rank_by,
            enough=enough,
            suitability=candidate.suitability,
        )

    places = tuple(ranked(*pair) for pair in [*enumerate(candidates)][:shown])
    alternatives = []
    for kind, place in pick_alternatives(candidates, swift).items():
        chosen = (swift if kind == FASTEST else candidates)[place]
        is_shown = place < len(places) and chosen is candidates[place]
        item = places[place] if is_shown else ranked(place, chosen)
        alternatives.append(Alternative(kind, item, places[0]))
    return Ranking(places, tuple(alternatives), len(every) - len(fast), lossier)


def _precedes(study: Study, candidate: RankedCandidate, least_later: SortKey) -> bool:
    config = candidate.config
    is_sure = config.verdict is Verdict.FITS and not beyond(study, config)
    return is_sure and candidate.score.key < least_later


def _counts(candidate: RankedCandidate, rank_by: str) -> bool:
    score = candidate.score
    in_first_group = score.stands_beside and is_available(score.gpu, score.today)
    return rank_by != RECOMMENDED or in_first_group


def describe(study: Study, config: RunConfig, rank: int) -> Ranked:
    """Build the ranking entry of one way."""
    fit = Fit.from_config(study, config)
    runs = fit.verdict.all_on_gpu and config.machine.is_uniform
    work = work_at(study, config.estimate) if runs else None
    every = None if work is None else speeds(work, fit.gpu, fit.max_concurrency)
    guessed = None
    if work is not None:
        guessed = speculative_speeds(study.profile, work, fit.gpu, fit.estimate)
    choice, drawn = quant_tradeoff(study, config), picture_seconds(study, config)
    together = served_users(study, config, percentiles=rank == 1) if runs else None
    speed = user_speed(study, config)
    if together is not None:
        speed = together.user_rate(in_turns=study.workload.takes_turns).likely
        every = every and every.at_least(together.output_tokens_per_second.likely)
    return Ranked(
        rank=rank,
        fit=fit,
        limits=SureLimits(study, fit),
        speeds=every,
        reasons=_reasons(study, config, choice),
        weighed=choice,
        speculation=guessed,
        served=together,
        part_decode=one_user_rate(study, config) if every is None else None,
        part_prefill=one_prompt_rate(study, config) if every is None else None,
        read=read_rate(study, config),
        heard=heard_rate(study, config),
        drawn=drawn,
        evidence=evidence_of(study, config, speed, drawn) if runs else None,
    )


def _reads_system_memory(study: Study, config: RunConfig) -> bool:
    # True if a token reads layers from system memory.
    if study.profile.pipeline is not None or not config.verdict.runs:
        return False
    asked = keeps_part_in_memory(study.profile, study.workload, config.estimate)
    return config.in_part or asked or not config.machine.gpus


def _reasons(study: Study, config: RunConfig, choice: Sequence[Note]) -> tuple[Note, ...]:
    # The verdict and the doubts that a reader must know.
    estimate, verdict = config.estimate, config.verdict
    notes = []
    if config.machine.is_uniform:
        lacking = {"missing_bytes": config.missing_bytes} if config.lacks_only_ram else {}
        one = verdict is Verdict.NOT_SUPPORTED and study.workload.engine is not None
        notes.append(
            Note(
                "verdict_engine_not_supported" if one else f"verdict_{config.verdict_code}",
                quant=estimate.quant.name,
                engine=estimate.engine.name,
                headroom_bytes=abs(config.headroom_bytes),
                **lacking,
                count=config.boards,
            )
        )
    notes += (*choice, *config.reasons)
    if verdict.runs:
        notes += study.profile.doubts
    if config.arranged is not None:
        notes += disk_notes(config.arranged.disk)
    if _reads_system_memory(study, config):
        notes.append(system_memory(config.machine).note)
    if verdict is Verdict.TIGHT:
        notes.append(Note("may_run_out"))
    if not config.machine.is_uniform:
        return tuple(notes)
    link = setup_of(config.gpu, config.boards).link.kind
    if link in ("pcie", "network"):
        notes.append(Note("no_fast_interconnect" if link == "pcie" else "joined_by_a_network"))
    if config.gpu.memory_basis == "nominal":
        notes.append(Note("usable_memory_not_observed"))
    return (*notes, *statements_on(config))
