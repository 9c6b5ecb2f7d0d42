"""GPUs that answer so many requests a second, in replicas of one model, the cheapest first.

Of one kind of GPU the fewest are the cheapest; between kinds the hour decides, rented or owned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.core.bisection import largest_holding
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.division import COUNTS
from gpusizer.fit.fit import sequences_held
from gpusizer.fit.preference import ways_for_a_load
from gpusizer.fit.speed import ModelFacts, Work, serving_bands
from gpusizer.fit.speed.classes import SERVING
from gpusizer.fit.speed.decode import step_seconds
from gpusizer.fit.speed.prefill import prompt_token_seconds
from gpusizer.fit.speed.replica import ReplicaPace, replicas_for, users_at, users_borne
from gpusizer.fit.speed.serving import served_sequences
from gpusizer.fit.speed.speculation import Speculation
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way, pool_on
from gpusizer.fit.ways import judged, keeps_part_in_memory
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.costs import CostAssumptions, PlanCosts, plan_costs
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload

_MOST_DEVICES = 8  # of one replica: one server


@dataclass(frozen=True, slots=True)
class ServingTarget:
    """What is asked of all replicas together.

    Attributes:
        requests_per_second: on average; they come at random.
        prompt_tokens, answer_tokens: of every request.
        ttft_seconds: most seconds to the first token, on average; None for any.
    """

    requests_per_second: float
    prompt_tokens: int
    answer_tokens: int
    ttft_seconds: float | None

    @property
    def context(self) -> int:
        """Tokens of a sequence."""
        return self.prompt_tokens + self.answer_tokens

    @property
    def tokens_per_second(self) -> float:
        """Answer tokens of all users."""
        return self.requests_per_second * self.answer_tokens


@dataclass(frozen=True, slots=True)
class Replicas:
    """One way to meet a target: replicas of `boards` boards each.

    Attributes:
        low_replicas, high_replicas: at the fast and the slow end of the speeds' bands; None where
            the slow end is never in time.
        users: in flight on each replica, on average.
        most_users: in flight on each at which memory or the time to the first token ends.
        ttft_seconds: likely, and at the fast and the slow end; None where the slow end falls
            behind the requests.
        user_tokens_per_second: answer tokens of each user, prompts of others read in between.
        tight: fits at the likely amounts of memory, not at the high end.
    """

    gpu: Gpu
    boards: int
    estimate: MemoryEstimate
    replicas: int
    low_replicas: int
    high_replicas: int | None
    users: float
    most_users: int
    ttft_seconds: tuple[float, float, float | None]
    user_tokens_per_second: float
    tight: bool
    costs: PlanCosts

    @property
    def total_boards(self) -> int:
        """Boards of all replicas."""
        return self.replicas * self.boards


@dataclass(frozen=True, slots=True)
class ServingPlan:
    """A target, the ways to meet it, the cheapest hour first, and what the reader must know."""

    target: ServingTarget
    rows: tuple[Replicas, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _Option:
    """A way to run a replica, its speed, and how many it takes; None where it is too slow."""

    way: Way
    work: Work
    pace: ReplicaPace
    replicas: int | None

    @property
    def total_boards(self) -> int:
        return self.way.boards * (self.replicas or 0)

    @property
    def place(self) -> tuple[bool, int, int, int]:
        """Fewest boards first, then the more faithful quantization, then smaller replicas."""
        way = self.way
        return (self.is_tight, self.total_boards, way.estimate.quant.order, way.boards)

    @property
    def is_tight(self) -> bool:
        """Whether a replica fits at the likely amounts of memory, not at the high end."""
        return self.way.verdict is Verdict.TIGHT


def plan_serving(
    study: Study,
    catalogue: Catalogue,
    target: ServingTarget,
    assumptions: CostAssumptions,
    *,
    boards: Sequence[int | None] | None = None,
    most_boards: Sequence[int | None] | None = None,
    top: int = 0,
) -> ServingPlan:
    """Replicas on each GPU of the catalogue that meet the target; `top` rows, or all when it is 0.

    `study` knows the workload of one sequence of the target. `boards` fixes the boards of a
    replica on each GPU (None leaves it open), `most_boards` limits those of all replicas together.
    """
    facts = ModelFacts.of(study.profile, study.workload, target.prompt_tokens)
    if facts is None:
        return ServingPlan(target, (), (Note("plan_needs_text"),))
    best: dict[str, _Option] = {}
    fitting, slow, unknown = set(), set(), set()
    for way in _ways(study, catalogue, boards):
        gpu = way.gpu
        fitting.add(gpu.slug)
        option = _option(study, facts, way, target)
        if option is None:
            unknown.add(gpu.slug)
        elif option.replicas is None:
            slow.add(gpu.slug)
        elif gpu.slug not in best or option.place < best[gpu.slug].place:
            best[gpu.slug] = option
    best = {slug: _under_load(study, option, target) for slug, option in best.items()}
    limits = dict(zip((gpu.slug for gpu in catalogue.gpus), most_boards or (), strict=False))
    kept = [o for slug, o in best.items() if o.total_boards <= _limit(limits, slug, most_boards)]
    priced = [(option, _costs(option, target, assumptions)) for option in kept]
    placed = sorted(
        priced, key=lambda pair: _place(pair[0].is_tight, pair[0].total_boards, pair[1])
    )[: top or None]
    dropped = len(best) - len(kept)
    notes = _notes(
        target,
        too_small=len(catalogue.gpus) - len(fitting),
        unknown=len(unknown - best.keys()),
        slow=len(slow - best.keys()),
        dropped=dropped,
    )
    rows = tuple(_row(option, target, costs) for option, costs in placed)
    return ServingPlan(target, rows, tuple(notes))


def joined(plans: Sequence[ServingPlan]) -> ServingPlan:
    """Plans for the same target as one: the cheapest first, and GPUs that notes count added up."""
    rows = [row for plan in plans for row in plan.rows]
    by_code: dict[str, list[Note]] = {}
    for note in (note for plan in plans for note in plan.notes):
        by_code.setdefault(note.code, []).append(note)
    return ServingPlan(
        plans[0].target,
        tuple(sorted(rows, key=lambda row: _place(row.tight, row.total_boards, row.costs))),
        tuple(map(_added_up, by_code.values())),
    )


def _added_up(notes: Sequence[Note]) -> Note:
    counts = [int(note.fields["count"]) for note in notes if "count" in note.fields]
    counted = {"count": sum(counts)} if counts else {}
    return Note(notes[0].code, **{**notes[0].fields, **counted})


def _limit(
    limits: dict[str, int | None], slug: str, most_boards: Sequence[int | None] | None
) -> float:
    return math.inf if most_boards is None else limits[slug] or 0


def _ways(study: Study, catalogue: Catalogue, boards: Sequence[int | None] | None) -> Iterator[Way]:
    """Yield the ways worth weighing on each GPU, for every number of boards of a replica."""
    for gpu, asked in zip(catalogue.gpus, boards or [None] * len(catalogue.gpus), strict=True):
        if gpu.status == "announced" and asked is None:
            continue
        per_board = gpu.devices_per_board
        counts = [n // per_board for n in COUNTS if n <= _MOST_DEVICES and not n % per_board]
        yield from ways_for_a_load(study, gpu, [asked] if asked else counts)


def _option(study: Study, facts: ModelFacts, way: Way, target: ServingTarget) -> _Option | None:
    """The speed of one choice; None where the catalogue lacks the bandwidth or the peak, and where
    a part of the model stays in system memory."""
    gpu, estimate = way.gpu, way.estimate
    study.budget.check(study.profile.repo_id)
    if keeps_part_in_memory(study.profile, study.workload, estimate):
        return None
    work = Work.of(facts, estimate)
    guess = None
    if study.workload.acceptance_rate is not None:
        guess = Speculation.of(study.profile, study.workload, estimate, work)
    reading = prompt_token_seconds(work, gpu)
    drafting = 0.0 if guess is None else guess.prompt_token_seconds(gpu)
    if reading is None or drafting is None or step_seconds(work, gpu, 1) is None:
        return None
    held = sequences_held(study, estimate, pool_on(gpu, estimate))
    pace = ReplicaPace(
        step=_Step(work, gpu, target, guess),
        prompt_seconds=target.prompt_tokens * (reading + drafting),
        lanes=work.data * (work.pipeline if work.family == SERVING else 1),
        answer=target.answer_tokens,
        most_users=_most_users(study.workload, work, held),
    )
    replicas = replicas_for(pace, target.requests_per_second, target.ttft_seconds)
    return _Option(way, work, pace, replicas)


def _under_load(study: Study, option: _Option, target: ServingTarget) -> _Option:
    """The option with as many users on a replica as its memory holds: buffers grow with them."""
    way, pace = option.way, option.pace

    def holds(users: int) -> bool:
        loaded = study.under(concurrency=users)
        estimate = way.estimate
        again = loaded.estimate(
            estimate.quant, estimate.native, estimate.engine, estimate.split, estimate.device_class
        )
        return judged(loaded, way.machine, again).verdict.place <= way.verdict.place

    users = largest_holding(holds, pace.most_users)
    if users == pace.most_users:
        return option
    pace = replace(pace, most_users=users)
    replicas = replicas_for(pace, target.requests_per_second, target.ttft_seconds)
    return replace(option, pace=pace, replicas=replicas)


@dataclass(frozen=True, slots=True)
class _Step:
    """Seconds in which each user gets a token: of a step, or of a round of guesses over the tokens
    that it gives. Caches hold the prompt and, on average, half of the answer."""

    work: Work
    gpu: Gpu
    target: ServingTarget
    guess: Speculation | None

    def __call__(self, users: float) -> float:
        filled = 1 - self.target.answer_tokens / 2 / self.target.context
        acceptance = self.work.facts.workload.acceptance_rate
        if self.guess is not None and acceptance is not None:
            return self.guess.token_seconds(self.gpu, users, acceptance, filled) or math.inf
        return step_seconds(self.work, self.gpu, users, filled) or math.inf


def _most_users(workload: Workload, work: Work, held: float | None) -> int:
    """Sequences that one replica serves at once."""
    every_rank = None if held is None else held * work.data
    return served_sequences(work, every_rank, workload.max_num_seqs)


def _row(option: _Option, target: ServingTarget, costs: PlanCosts) -> Replicas:
    """The figures of a chosen option, with both ends of the speeds' bands."""
    way, pace, replicas = option.way, option.pace, option.replicas or 1
    rate, ttft = target.requests_per_second / replicas, target.ttft_seconds
    steps, prompts = serving_bands(option.work, way.gpu)
    fast, slow = (pace.at_speeds(steps, prompts, end) for end in ("high", "low"))
    users = users_at(pace, rate) or float(pace.most_users)
    return Replicas(
        gpu=way.gpu,
        boards=way.boards,
        estimate=way.estimate,
        replicas=replicas,
        low_replicas=replicas_for(fast, target.requests_per_second, ttft) or replicas,
        high_replicas=replicas_for(slow, target.requests_per_second, ttft),
        users=significant(users),
        most_users=math.floor(users_borne(pace, ttft)),
        ttft_seconds=(
            significant(pace.first_token_seconds(users)),
            _first_token(fast, rate) or 0.0,
            _first_token(slow, rate),
        ),
        user_tokens_per_second=significant(pace.user_tokens_per_second(users)),
        tight=option.is_tight,
        costs=costs,
    )


def _first_token(pace: ReplicaPace, rate: float) -> float | None:
    users = users_at(pace, rate)
    return None if users is None else significant(pace.first_token_seconds(users))


def _costs(option: _Option, target: ServingTarget, assumptions: CostAssumptions) -> PlanCosts:
    """Costs of the boards of all replicas."""
    gpu, boards = option.way.gpu, option.total_boards
    return plan_costs(gpu, boards, target.tokens_per_second, assumptions)


def _place(tight: bool, boards: int, costs: PlanCosts) -> tuple[bool, float, int]:
    """The least cost of an hour first, then the fewest boards; unknown costs come last."""
    cost = costs.lowest_usd_per_hour
    return (tight, math.inf if cost is None else cost, boards)


def _notes(
    target: ServingTarget, *, too_small: int, unknown: int, slow: int, dropped: int
) -> Iterator[Note]:
    """What the plan assumes, and which GPUs are not in it."""
    yield Note("plan_assumes_random_requests")
    if too_small:
        yield Note("plan_does_not_fit", count=too_small, context=target.context)
    if unknown:
        yield Note("plan_speed_unknown", count=unknown)
    if slow:
        yield Note("plan_first_token_too_late", count=slow)
    if dropped:
        yield Note("plan_beyond_limits", count=dropped)


def serving_workload(workload: Workload, target: ServingTarget, longest: int | None) -> Workload:
    """The workload of one sequence of the target.

    Raises InvalidRequest where the model's context ends before it.
    """
    if longest is not None and target.context > longest:
        raise InvalidRequest(
            field="prompt_tokens",
            value=target.context,
            reason="beyond_the_context",
            longest=longest,
        )
    return replace(workload, context=target.context, concurrency=1)
