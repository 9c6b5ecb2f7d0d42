"""Misses: reasons why a request's requirements do not hold, for programs that depend on them.

Memory is judged at the high end of every band; speeds, times and prices at their likely values, as
in rankings and plans. An unknown value does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpusizer.advice.conclusion.clauses import boards_name, machine_name, short_name
from gpusizer.advice.conclusion.fit import verdict
from gpusizer.advice.ranking import Ranked
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.division import asked_boards
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine_parser import parse_kind
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus.costs import PlanCosts
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.quality import LossWord
from gpusizer.serving.serving_rows import Replicas, ServingPlan
from gpusizer.training.ranking import RankedTraining
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.named_gpus import stated_boards
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.training_report import TrainingReport

Misses = tuple[Note, ...]  # reasons, a sentence each; empty if all holds

_BOUNDS = ("min_tok_s", "max_usd", "max_usd_per_hour", "max_watts")

# fields with a lower bound; others have an upper one
_AT_LEAST = frozenset({"min_tok_s", "concurrency", "requests_per_second"})
_ROUNDING = 1e-9  # relative, of prices that are added up


def find_misses(answer: Report | TrainingReport) -> Misses:
    """Return why the request's requirements do not hold.

    Each GPU and rig that the request names has to hold them, each with the best requested
    quantization; without names, one place of the ranking or one row of the plan.
    """
    if isinstance(answer, TrainingReport):
        return _judge_training(answer)
    request = answer.request
    if request.gpus or request.rig:
        judged = (*_judge_named(answer), *_judge_rig(answer))
        found = tuple(note for misses in judged for note in misses)
    elif answer.serving_plan is not None:
        rows = answer.serving_plan.rows
        found = _need_one([_judge_row(answer, row) for row in rows], answer.conclusion.said)
    else:
        asked = _asked_of(request)
        if request.gpu_count is not None:
            asked["gpu_count"] = request.gpu_count
        places = [_judge_place(answer, place, asked) for place in answer.ranking]
        found = _need_one(places, answer.conclusion.said)
    return (*_judge_workload(answer), *found)


def _need_one(judged: Sequence[Misses], nothing: Sequence[Note]) -> Misses:
    # Empty if one of those listed holds, else the reasons of the first; `nothing` explains an empty
    # list.
    if not judged:
        return tuple(nothing[:1])
    return (Note("check_none"), *judged[0]) if all(judged) else ()


def _judge_workload(report: Report) -> Iterator[Note]:
    # Limits of the answer wherever the model runs: unknown parts of the model, a stated context
    # beyond the model's, and a time to the first token without a rate.
    yield from report.profile.doubts
    request, planned = report.request, report.workload.context
    asked = request.workload.context
    is_stated = "context" in request.model_fields_set or asked != DEFAULT_CONTEXT
    if is_stated and planned < asked:
        yield Note("context_shortened", asked=asked, longest=planned)
    if request.ttft_ms is not None and request.requests_per_second is None:
        yield Note("target_needs_a_rate")


def _judge_named(report: Report) -> Iterator[Misses]:
    # By the plan if there is one, else by its place. One board if the request states no number.
    request, plan = report.request, report.serving_plan
    if not request.gpus:
        return
    for kind, place in zip(map(parse_kind, request.gpus), report.ranking, strict=True):
        gpu, boards = place.fit.gpu, stated_boards(kind, request.gpu_count)
        if plan is not None:
            yield _judge_replicas(report, plan, place, boards)
            continue
        boards = boards or asked_boards(report.workload, gpu) or 1
        misses = _judge_place(report, place, _asked_of(request))
        if not misses and place.fit.count > boards:
            misses = (Note("check_boards", gpus=machine_name(place.fit.machine)),)
        yield misses


def _judge_replicas(report: Report, plan: ServingPlan, place: Ranked, boards: int | None) -> Misses:
    # Rows of one GPU, with `boards` boards if stated.
    gpu = place.fit.gpu
    rows = [row for row in plan.rows if row.gpu == gpu and boards in (None, row.boards)]
    none = Note(
        "check_no_plan",
        gpus=boards_name(gpu, boards or 1),
        model=short_name(report.profile),
        rate=significant(plan.target.requests_per_second),
    )
    judged = [_judge_row(report, row) for row in rows]
    return min(judged, key=len) if judged else (none,)


def _judge_rig(report: Report) -> Iterator[Misses]:
    # Nothing is planned for a described machine.
    if report.rig is None:
        return
    asked, rate = _asked_of(report.request), report.request.requests_per_second
    if rate is not None:
        asked["requests_per_second"] = rate
    yield _judge_place(report, report.rig, asked)


def _judge_place(report: Report, place: Ranked, asked: Mapping[str, float]) -> Misses:
    fit, gpus = place.fit, machine_name(place.fit.machine)
    if fit.verdict is not Verdict.FITS:
        return tuple(_not_held(report.profile, place))
    one_user = report.workload.concurrency == 1
    rate = place.user_rate or (place.decode if one_user else None)
    found = {"min_tok_s": None if rate is None else rate.likely, "gpu_count": fit.count}
    if fit.machine.is_uniform:  # the prices of unlike cards are not added up
        found |= _prices(place.costs, place.power_watts)
    loss = _judge_loss(report.request, gpus, fit.estimate)
    return (*loss, *_compare(gpus, asked, found))


def _judge_row(report: Report, row: Replicas) -> Misses:
    gpus, request = boards_name(row.gpu, row.total_boards), report.request
    if row.tight:
        fields = {"model": short_name(report.profile), "quant": row.estimate.quant.name}
        return (Note("check_tight", gpus=gpus, **fields),)
    asked = _asked_of(request)
    if request.concurrency > 1:
        asked["concurrency"] = request.concurrency
    watts = row.gpu.power_watts
    found = {
        "min_tok_s": row.user_tokens_per_second,
        "concurrency": row.most_users * row.replicas,
        **_prices(row.costs, None if watts is None else watts * row.total_boards),
    }
    return (*_judge_loss(request, gpus, row.estimate), *_compare(gpus, asked, found))


def _not_held(profile: ModelProfile, place: Ranked) -> Iterator[Note]:
    about: dict[str, NoteValue] = {
        "model": short_name(profile),
        "gpus": machine_name(place.fit.machine),
        "quant": place.fit.estimate.quant.name,
    }
    if place.fit.verdict is Verdict.TIGHT:
        yield Note("check_tight", **about)
    elif place.fit.verdict is Verdict.OFFLOAD:
        yield Note("check_offload", **about)
    else:
        reasons = 2 if place.fit.verdict is Verdict.NOT_SUPPORTED else 1
        yield from tuple(verdict(profile, place))[:reasons]


def _asked_of(request: SizeRequest) -> dict[str, float]:
    return {name: asked for name in _BOUNDS if (asked := getattr(request, name)) is not None}


def _prices(costs: PlanCosts, watts: float | None) -> dict[str, float | None]:
    return {
        "max_usd": costs.buy_usd,
        "max_usd_per_hour": costs.rent_usd_per_hour,
        "max_watts": watts,
    }


def _compare(
    gpus: str, asked: Mapping[str, float], found: Mapping[str, float | None]
) -> Iterator[Note]:
    # A note for each figure beyond its bound, or unknown.
    for field, bound in asked.items():
        figure = found.get(field)
        if figure is None:
            yield Note("check_unknown", gpus=gpus, field=field, asked=bound)
        elif figure < bound if field in _AT_LEAST else figure > bound * (1 + _ROUNDING):
            yield Note("check_missed", gpus=gpus, field=field, asked=bound, found=figure)


def _judge_loss(request: SizeRequest, gpus: str, estimate: MemoryEstimate) -> Iterator[Note]:
    # The default is a wish: the answer exceeds it if nothing else fits.
    word = quality_at(estimate).advised_word
    if "max_loss" in request.model_fields_set and word.rank > LossWord(request.max_loss).rank:
        yield Note("check_loss", gpus=gpus, quant=estimate.quant.name, loss=word.value)


def _judge_training(report: TrainingReport) -> Misses:
    # Each GPU that a training names, else the GPUs of its ranking.
    request = report.request
    if not request.gpus:
        places = [tuple(_judge_trained(report, place)) for place in report.ranking]
        return _need_one(places, report.conclusion.said)
    found: list[Note] = []
    for kind, place in zip(map(parse_kind, request.gpus), report.ranking, strict=True):
        found += _judge_trained(report, place, stated_boards(kind, request.gpu_count) or 1)
    return tuple(found)


def _judge_trained(
    report: TrainingReport, place: RankedTraining, boards: int | None = None
) -> Iterator[Note]:
    # `boards` is the most that the request allows.
    fit, gpus = place.fit, boards_name(place.fit.gpu, place.fit.count)
    about: dict[str, NoteValue] = {
        "model": short_name(report.profile),
        "tuning": fit.plan.method,
    }
    if fit.verdict is Verdict.TIGHT:
        yield Note("check_train_tight", gpus=gpus, **about)
    elif fit.verdict is not Verdict.FITS:
        memory = {"need_bytes": fit.need.likely, "memory_bytes": fit.gpu.device_free_bytes}
        yield Note("answer_train_does_not_fit", gpus=gpus, **about, **memory)
    elif boards is not None and fit.count > boards:
        yield Note("check_boards", gpus=gpus)
    else:
        least = report.request.min_tok_s
        asked = {} if least is None else {"min_tok_s": least}
        rate = None if place.rate is None else place.rate.likely
        yield from _compare(gpus, asked, {"min_tok_s": rate})
