"""Hardware for a load: users at once, or requests a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusizer.advice.conclusion.clauses import (
    Conclusion,
    about,
    boards_name,
    facts_of,
    one_price,
    planned,
    prices,
    rent,
    short_name,
    unmeasured,
)
from gpusizer.advice.conclusion.fit import missed, others, remedies, verdict
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.losses import quality_at
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.serving_rows import Replicas, ServingPlan
from gpusizer.speed.classes import SERVING

_OTHER_ROWS = 2


def requests_served(
    profile: ModelProfile, plan: ServingPlan, shown: Sequence[MemoryEstimate]
) -> Conclusion:
    """Conclude the first row of the plan for a rate of requests, or why it has none.

    `shown` are the quantizations of the answer.
    """
    target = plan.target
    asked: dict[str, NoteValue] = {
        "model": short_name(profile),
        "rate": significant(target.requests_per_second),
        "prompt": target.prompt_tokens,
        "answer": target.answer_tokens,
    }
    if not plan.rows:
        return Conclusion("load", (Note("answer_no_plan", **asked),), plan.notes)
    first = plan.rows[0]
    within: tuple[Note, ...] = ()
    if target.ttft_seconds is not None:
        within = (
            Note(
                "answer_plan_within",
                seconds=significant(target.ttft_seconds),
                percentile=target.ttft_percentile,
                late=first.ttft_late_seconds,
            ),
        )
    said = (
        Note("answer_plan", **asked, **_replicas(first)),
        Note(
            "answer_plan_speed",
            **_pace(first),
            late=first.ttft_late_seconds,
            percentile=target.ttft_percentile,
        ),
        *_cost(first.gpu, first.costs),
    )
    rows = (Note("answer_plan_or", **_replicas(row), **_pace(row)) for row in plan.rows[1:])
    lost = _lost(first.estimate, shown)
    weighed = (*within, *_fewer(first), *lost, *list(rows)[:_OTHER_ROWS], *plan.notes)
    return Conclusion("load", said, weighed, _plan_facts(first))


def _fewer(row: Replicas) -> Iterator[Note]:
    # The number of a plan that holds at the slow end is far above what a fast server needs.
    fewest = row.low_replicas * row.boards
    if not row.risky and fewest < row.total_boards:
        yield Note("answer_plan_fewer", fewest=fewest, boards=row.total_boards)


def _lost(chosen: MemoryEstimate, shown: Sequence[MemoryEstimate]) -> Iterator[Note]:
    # Relative to the checkpoint as stored.
    native = next((estimate.quant for estimate in shown if estimate.native), chosen.quant)
    if chosen.quant.slug != native.slug:
        word = quality_at(chosen).word
        yield Note(f"weighed_{word}", quant=chosen.quant.name, before=native.name)


def _replicas(row: Replicas) -> dict[str, NoteValue]:
    return {
        "gpus": boards_name(row.gpu, row.total_boards),
        "replicas": row.replicas,
        "boards": row.boards,
        "quant": row.estimate.quant.name,
        "engine": row.estimate.engine.name,
    }


def _pace(row: Replicas) -> dict[str, NoteValue]:
    return {
        "seconds": significant(row.ttft_seconds[0]),
        "tokens": significant(row.user_tokens_per_second),
    }


def _plan_facts(row: Replicas) -> dict[str, NoteValue | None]:
    return {
        "gpu": row.gpu.slug,
        "gpu_name": boards_name(row.gpu, row.total_boards),
        "count": row.total_boards,
        "replicas": row.replicas,
        "quant": row.estimate.quant.slug,
        "engine": row.estimate.engine.slug,
        "time_to_first_token_seconds": row.ttft_seconds[0],
        "tokens_per_second_per_user": row.user_tokens_per_second,
        "rent_usd_per_hour": row.costs.rent_usd_per_hour,
        "buy_usd": row.costs.buy_usd,
    }


def _cost(gpu: Gpu, costs: PlanCosts) -> Iterator[Note]:
    # The rent of an hour and a month, or the price to buy without one; both if an hour of bought
    # boards costs less.
    if (
        costs.owned_usd_per_hour is not None
        and costs.lowest_usd_per_hour != costs.rent_usd_per_hour
    ):
        yield from prices(gpu, costs)
    elif costs.rent_usd_per_hour is None:
        yield from one_price(gpu, costs)
    else:
        yield rent(gpu, costs, costs.rent_usd_per_hour)


def users_served(
    profile: ModelProfile,
    workload: Workload,
    places: Sequence[Ranked],
    alternatives: Sequence[Alternative],
) -> Conclusion:
    """Conclude the first place of the ranking, or the named GPU, for the users at once."""
    users = workload.concurrency
    if not places:
        nothing = Note("answer_no_gpu_for_users", model=short_name(profile), users=users)
        return Conclusion("load", (nothing,))
    first = min(places, key=lambda place: place.fit.verdict.place)
    if not first.fit.verdict.all_on_gpu:
        said = tuple(verdict(profile, first))
        weighed = (*planned(profile, workload), *remedies(first))
        return Conclusion("load", said, weighed, facts_of(first))
    has_price = first.fit.machine.is_uniform
    turns = first.workload.takes_turns
    asked: dict[str, NoteValue] = {"users": users, "context": workload.context}
    if turns:
        asked["at_once"] = first.workload.sequences
    said = (
        Note(
            "answer_users_in_turns" if turns else "answer_users",
            **about(profile, first),
            **asked,
        ),
        *(_speed_in_turns(first) if turns else _speed_of_all(first, users)),
        *(_cost(first.fit.gpu, first.costs) if has_price else ()),
    )
    weighed = (
        *(_per_million(first, users) if has_price else ()),
        *first.weighed,
        *missed(first),
        *_unmeasured(first),
        *others(alternatives),
    )
    return Conclusion("load", said, weighed, {**facts_of(first), "users": users})


def _unmeasured(place: Ranked) -> Iterator[Note]:
    # Engines that were measured under load have constants of their own; runs of one user support
    # the speeds of the others.
    if place.served is None or place.fit.estimate.engine.abilities.speed_family != SERVING:
        yield from unmeasured(place)


def _speed_of_all(place: Ranked, users: int) -> Iterator[Note]:
    # Prompts that are read in between count if a server was modelled.
    total = place.tokens_per_second
    if total is None:
        return
    first = None if place.served is None else place.served.ttft_seconds
    fields: dict[str, NoteValue] = {
        "tokens": significant(total / users),
        "total": significant(total),
    }
    if first is None:
        yield Note("answer_users_speed", **fields)
        return
    seconds = significant(first.likely)
    if first.p50 is None:
        yield Note("answer_users_speed_and_wait", **fields, seconds=seconds)
    else:
        median = significant(first.p50)
        yield Note("answer_users_speed_and_waits", **fields, seconds=seconds, median=median)


def _speed_in_turns(place: Ranked) -> Iterator[Note]:
    # Of a user who is being served, with the wait of the others.
    served, pace = place.served, place.user_rate
    if served is None or pace is None or served.ttft_seconds is None:
        return
    yield Note(
        "answer_users_pace_and_wait",
        tokens=significant(pace.likely),
        total=significant(served.output_tokens_per_second.likely),
        seconds=significant(served.ttft_seconds.likely),
    )


def _per_million(place: Ranked, users: int) -> Iterator[Note]:
    # The price holds for this number of users only.
    costs = place.costs
    usd = costs.lowest_usd_per_million_tokens
    if usd is not None:
        kind = "rented" if usd == costs.usd_per_million_tokens else "owned"
        yield Note(f"answer_per_million_{kind}", usd=significant(usd), users=users)
