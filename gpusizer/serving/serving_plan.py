"""Plans of replicas for a request rate, the cheapest first."""

# For one kind of GPU the fewest are the cheapest; between kinds the cost of an hour decides, rented
# or owned, after conditions of a recommendation (`fit/recommendation.py`): the card is one for
# servers, a command starts it, the plan holds at the slow end of the bands, the vendor's software
# still supports the card, and it is available.

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from gpusizer.core.bisection import largest_holding
from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.audience import rule_against
from gpusizer.fit.division import COUNTS, max_boards
from gpusizer.fit.fit import sequences_held
from gpusizer.fit.preference import ways_for_a_load
from gpusizer.fit.preference_key import unreadiness
from gpusizer.fit.run_config import RunConfig, pool_on
from gpusizer.fit.run_configs import judged
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import work_at
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.costs import CostAssumptions, PlanCosts, plan_costs
from gpusizer.serving import Server, server_of
from gpusizer.serving.replicas import (
    ReplicaCapacity,
    ServingTarget,
    pace_of,
    replicas_in_time,
    sure_replicas,
    sustained_load,
)
from gpusizer.serving.serving_rows import (
    Doubts,
    Place,
    Replicas,
    ServingPlan,
    TokenPrices,
    plan_key,
)
from gpusizer.speed import ModelFacts, is_measured

_ONE_MACHINE = 8  # devices of a replica in one server


@dataclass(frozen=True, slots=True)
class _Option:
    # A way to run a replica, its distance from running, its server, load and number, and doubts.
    config: RunConfig
    unready: int
    server: Server
    most: ReplicaCapacity
    replicas: int
    doubts: Doubts

    @property
    def total_boards(self) -> int:
        return self.config.boards * self.replicas

    @property
    def place(self) -> tuple[bool, bool, int, int, int, int]:
        # what holds first, then the fewest boards, then what a command starts, then the more
        # faithful quantization, then smaller replicas
        doubts, config = (self.is_tight, self.doubts.risky), self.config
        order = config.estimate.quant.order
        return (*doubts, self.total_boards, self.unready, order, config.boards)

    @property
    def is_tight(self) -> bool:
        # a replica fits at the likely amounts of memory, not at the high end
        return self.config.verdict is Verdict.TIGHT

    def beaten_by(self, boards: int) -> bool:
        # one replica takes more boards than this sure option in all
        return not self.is_tight and not self.doubts.risky and boards > self.total_boards


@dataclass
class _Search:
    # The best option of each kind of GPU with the other ways there, and kinds without one by
    # reason.
    best: dict[str, _Option]
    others: dict[str, list[RunConfig]]
    fitting: set[str]
    unknown: set[str]
    slow: set[str]


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
    """Return the replicas on each GPU that meet the target; `top` rows, or all if 0.

    `study` has the workload of one sequence of the target. `boards` fixes the boards of a replica
    on each GPU (None leaves it open), `most_boards` limits those of all replicas together.
    """
    if ModelFacts.from_profile(study.profile, study.workload, target.prompt_tokens) is None:
        return ServingPlan(target, study.workload, (), (Note("plan_needs_text"),))
    asked = dict(zip((gpu.slug for gpu in catalogue.gpus), boards or (), strict=False))
    limits = dict(zip((gpu.slug for gpu in catalogue.gpus), most_boards or (), strict=False))
    rows: list[Replicas] = []
    left_out: Counter[str] = Counter()
    # GPUs kept back from many users come last: they are weighed if all others are too few.
    for kept_back in (False, True):
        gpus = [gpu for gpu in catalogue.gpus if _is_kept_back(study, gpu, 1) == kept_back]
        if gpus and not (top and len(rows) >= top):
            search = _searched(study, gpus, target, asked)
            more = top - len(rows) if top else 0
            rows += _rows(study, search, target, assumptions, limits, more, left_out)
            left_out["too_small"] += len(gpus) - len(search.fitting)
            left_out["unknown"] += len(search.unknown - search.best.keys())
            left_out["slow"] += len(search.slow - search.best.keys())
    notes = _notes(target, left_out)
    said = (*_over_a_network(rows), *notes, *_beside_an_api(target, rows))
    return ServingPlan(target, study.workload, tuple(rows), said)


def _is_kept_back(study: Study, gpu: Gpu, boards: int) -> bool:
    # rules keep such boards back from many users, also in plans
    rule = rule_against(gpu, boards, study.profile.parameters, "many", plans=True)
    return rule is not None


def _rows(
    study: Study,
    search: _Search,
    target: ServingTarget,
    assumptions: CostAssumptions,
    limits: Mapping[str, int | None],
    top: int,
    left_out: Counter[str],
) -> list[Replicas]:
    # the first `top` settled options in order, or all if 0; options with more boards than the
    # request allows count as left out
    rows: list[Replicas] = []
    waiting = [
        (*_plan_key(option, target, assumptions), number, False, option)
        for number, option in enumerate(search.best.values())
    ]
    heapify(waiting)
    while waiting and (not top or len(rows) < top):
        *_, number, settled, option = heappop(waiting)
        slug = option.config.gpu.slug
        if slug in limits and option.total_boards > (limits[slug] or 0):
            left_out["dropped"] += 1
        elif settled:
            rows.append(_row(option, target, assumptions))
        elif (known := _settled(search, study, option, target)) is None:
            search.slow.add(slug)
            del search.best[slug]
        else:
            place = _plan_key(known, target, assumptions)
            heappush(waiting, (*place, number, True, known))
    return rows


def _searched(
    study: Study, gpus: Sequence[Gpu], target: ServingTarget, boards: Mapping[str, int | None]
) -> _Search:
    # by the closed form of each server
    search = _Search({}, defaultdict(list), set(), set(), set())
    for gpu in gpus:
        asked = boards.get(gpu.slug)
        if gpu.status == "announced" and asked is None:
            continue
        counts = [asked] if asked else _counts(gpu, COUNTS[0], _ONE_MACHINE)
        for config in ways_for_a_load(study, gpu, counts):
            _weigh(search, study, config, target)
        if asked is None:
            for config in _over_machines(study, gpu, counts, search.best.get(gpu.slug)):
                _weigh(search, study, config, target)
    return search


def _counts(gpu: Gpu, fewest: int, most: int) -> list[int]:
    # boards of a replica with `fewest` to `most` devices
    per_board = gpu.devices_per_board
    return [n // per_board for n in COUNTS if fewest <= n <= most and not n % per_board]


def _over_machines(
    study: Study, gpu: Gpu, counts: Sequence[int], so_far: _Option | None
) -> Iterator[RunConfig]:
    # Yields ways over several machines, under engines that join them, if one machine holds no
    # replica, or only one that fills it and would be needed more often than the larger one.
    if so_far is not None and so_far.config.boards < counts[-1]:
        return
    for count in _counts(gpu, _ONE_MACHINE + 1, max_boards(gpu) * gpu.devices_per_board):
        if so_far is None or not so_far.beaten_by(count):
            configs = ways_for_a_load(study, gpu, [count])
            yield from (
                config for config in configs if config.estimate.engine.abilities.joins_machines
            )


def _weigh(search: _Search, study: Study, config: RunConfig, target: ServingTarget) -> None:
    slug = config.gpu.slug
    search.fitting.add(slug)
    so_far = search.best.get(slug)
    if so_far is not None and so_far.beaten_by(config.boards):
        search.others[slug].append(config)
        return
    server = _server(study, config, target)
    option = None if server is None else _borne(study, config, server, target)
    if server is None:
        search.unknown.add(slug)
    elif option is None:
        search.slow.add(slug)
    else:
        better = _better(study, option, so_far, target)
        if better is not None and so_far is not None:
            search.others[slug].append(so_far.config)
        if better is not None:
            search.best[slug] = better
        else:
            search.others[slug].append(config)


def _better(
    study: Study, option: _Option, than: _Option | None, target: ServingTarget
) -> _Option | None:
    # the option with as many users as its memory holds must be better than `than`, too
    if than is not None and option.place >= than.place:
        return None
    limited = _limited(study, option, target)
    if limited is None or (than is not None and limited.place >= than.place):
        return None
    return limited


def _settled(
    search: _Search, study: Study, option: _Option, target: ServingTarget
) -> _Option | None:
    # By simulation: if it needs more replicas than the closed form, another way may take fewer
    # boards. None if no way is in time.
    best = _in_time(option, target)
    if best is not None and best.replicas == option.replicas:
        return best
    for config in search.others[option.config.gpu.slug]:
        if best is not None and best.beaten_by(config.boards):
            continue
        server = _server(study, config, target)
        other = None if server is None else _borne(study, config, server, target)
        found = None if other is None else _better(study, other, best, target)
        found = None if found is None else _in_time(found, target)
        if found is not None and (best is None or found.place < best.place):
            best = found
    return best


def _server(study: Study, config: RunConfig, target: ServingTarget) -> Server | None:
    # A replica's server, with as many sequences as its caches hold whole; None if the catalogue
    # lacks the bandwidth or the peak, or if a part of the model stays in system memory.
    estimate, profile, workload = config.estimate, study.profile, study.workload
    study.budget.check(profile.repo_id)
    pool = pool_on(config.gpu, estimate)
    lengths = target.prompt_tokens, target.answer_tokens, target.shared_prefix_tokens
    server = server_of(profile, workload, estimate, config.gpu, pool, *lengths)
    held = sequences_held(study, estimate, pool)
    if server is not None and held is not None:
        server = replace(server, most=min(server.most, int(held)))
    return server


def _borne(
    study: Study, config: RunConfig, server: Server, target: ServingTarget
) -> _Option | None:
    # by the closed form, with as many replicas as sustain the load at the slow end of the bands, if
    # any number does; None if it is never in time
    most, sure = sustained_load(server, target.promise), sure_replicas(server, target.promise)
    if most is None:
        return None
    replicas = sure or most.replicas(target.promise.requests_per_second)
    doubts = _doubts(study, config, risky=sure is None)
    return _Option(config, unreadiness(study, config), server, most, replicas, doubts)


def _doubts(study: Study, config: RunConfig, *, risky: bool) -> Doubts:
    work = work_at(study, config.estimate)
    return Doubts(
        kept_back=_is_kept_back(study, config.gpu, config.boards),
        unready=unreadiness(study, config) > 0,
        unmeasured=work is None or not is_measured(work, config.gpu),
        risky=risky,
    )


def _limited(study: Study, option: _Option, target: ServingTarget) -> _Option | None:
    # as many users on a replica as its memory holds: buffers grow with them
    config, server = option.config, option.server

    def holds(users: int) -> bool:
        loaded = study.with_workload(concurrency=users)
        again = judged(loaded, config.machine, loaded.reestimate(config.estimate))
        return again.verdict.place <= config.verdict.place

    users = largest_holding(holds, server.most * server.ranks)
    if users == server.most * server.ranks:
        return option
    return _borne(study, config, replace(server, most=users // server.ranks), target)


def _in_time(option: _Option, target: ServingTarget) -> _Option | None:
    count = replicas_in_time(option.server, target.promise, option.replicas)
    return None if count is None else replace(option, replicas=count)


def _row(option: _Option, target: ServingTarget, assumptions: CostAssumptions) -> Replicas:
    costs = _costs(option, target, assumptions)
    config, pace = option.config, pace_of(option.server, target.promise, option.replicas)
    likely, low, high = pace.ttft_seconds
    return Replicas(
        config=config,
        replicas=option.replicas,
        low_replicas=pace.low_replicas,
        high_replicas=pace.high_replicas,
        users=significant(pace.users),
        most_users=math.ceil(option.most.users),
        ttft_seconds=(
            significant(likely),
            significant(low),
            None if high is None else significant(high),
        ),
        ttft_median_seconds=significant(pace.ttft_median_seconds),
        ttft_late_seconds=significant(pace.ttft_late_seconds),
        user_tokens_per_second=significant(pace.tokens_per_second),
        costs=costs,
        tokens=TokenPrices.from_load(
            costs.lowest_usd_per_hour,
            target.requests_per_second,
            (target.prompt_tokens, target.answer_tokens),
            pace.prompts,
        ),
        place=_plan_key(option, target, assumptions),
    )


def _plan_key(option: _Option, target: ServingTarget, assumptions: CostAssumptions) -> Place:
    costs = _costs(option, target, assumptions)
    return plan_key(option.config, option.total_boards, costs, option.doubts)


def _costs(option: _Option, target: ServingTarget, assumptions: CostAssumptions) -> PlanCosts:
    gpu, boards = option.config.gpu, option.total_boards
    return plan_costs(gpu, boards, target.tokens_per_second, assumptions)


def _notes(target: ServingTarget, left_out: Mapping[str, int]) -> Iterator[Note]:
    # assumptions of the plan, and kinds of GPU that it leaves out
    yield Note("plan_assumes_random_requests", percentile=target.ttft_percentile)
    if count := left_out["too_small"]:
        yield Note("plan_does_not_fit", count=count, context=target.context)
    if count := left_out["unknown"]:
        yield Note("plan_speed_unknown", count=count)
    if count := left_out["slow"]:
        yield Note("plan_first_token_too_late", count=count)
    if count := left_out["dropped"]:
        yield Note("plan_beyond_limits", count=count)


def _over_a_network(rows: Sequence[Replicas]) -> Iterator[Note]:
    # the engine that joins the machines of the cheapest row
    if rows and rows[0].machines_per_replica > 1:
        first = rows[0]
        machines, engine = first.machines_per_replica, first.estimate.engine.name
        yield Note("plan_over_machines", machines=machines, engine=engine)


def _beside_an_api(target: ServingTarget, rows: Sequence[Replicas]) -> Iterator[Note]:
    # whether the cheapest row costs less than the stated API
    asked, cheapest = target.api_usd_per_million, rows[0].tokens if rows else None
    if asked is not None and cheapest is not None:
        prices = {"api_usd": asked, "usd": cheapest.usd_per_million}
        if asked > cheapest.usd_per_million:
            yield Note("plan_api_dearer", **prices)
        else:
            yield Note("plan_api_cheaper", **prices)
