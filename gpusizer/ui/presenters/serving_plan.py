"""The servers that meet a load, as a table that one would sign: what can start today, then the
rest."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.core.errors import GpusizerError
from gpusizer.fit.recommendation import firm_usd_per_hour
from gpusizer.launch.deployment import Deployment, deployment_of, workload_to_start
from gpusizer.serving.serving_rows import Replicas, ServingPlan
from gpusizer.ui.presenters.explanation import plain
from gpusizer.ui.presenters.figures import HOURS_OF_A_MONTH, waits_text
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.losses import configuration
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.verdict import servers_count
from gpusizer.usecases.report import Report

PLAN_ROWS = 12
"""Ways that a page has; the JSON has as many as it is asked for."""
_SHOWN = 4
"""Ways that are not folded."""
_MAKES = frozenset({"launch_makes_gguf", "launch_makes_quantization"})


@dataclass(frozen=True, slots=True)
class OfferedServers:
    """One row of the table.

    Attributes:
        servers: how many of how many GPUs.
        at_low: what the slow end of the speeds' bands needs, "" where the same servers bear it.
        holds: at the slow end, too.
        hour, month: of the cheaper of rent and purchase, each with the other below it.
        lacking: what has to be made or found first; "" where it starts today.
    """

    gpu: str
    runs: str
    servers: str
    first_token: str
    waits: str
    hour: tuple[str, str]
    month: tuple[str, str]
    buy: str
    holds: bool
    at_low: str
    lacking: str


def serving_plan_html(report: Report, words: Words) -> Markup:
    """Write the ways to meet a report's target, those that hold and start today first, and how to
    start the first; "" without a plan. The context of the question is the servers' limit."""
    plan = report.serving_plan
    if plan is None:
        return Markup("")
    target = plan.target
    rows = in_order(report)
    offers = [_offer(plan, row, started, words) for row, started in rows]
    return render(
        "serving_plan.html",
        words,
        explained=Glossary(words),
        target={
            "rate": words.number(target.requests_per_second, "g"),
            "prompt": words.whole(target.prompt_tokens),
            "answer": words.whole(target.answer_tokens),
            "months": words.whole(HOURS_OF_A_MONTH),
        },
        shown=_SHOWN,
        ready=[it for it in offers if not it.lacking],
        unready=[it for it in offers if it.lacking],
        engine=rows[0][0].estimate.engine.name if rows else "",
        deployment=rows[0][1] if rows else None,
        notes=[plain(note, words) for note in plan.notes],
    )


def in_order(report: Report) -> list[tuple[Replicas, Deployment | None]]:
    """Return the rows of a report's plan that a page shows, each with how its servers start: first
    what starts today and bears the load at the slow end, too."""
    plan = report.serving_plan
    rows = plan.rows[:PLAN_ROWS] if plan else ()
    started = [(row, _started(report, row)) for row in rows]
    return sorted(started, key=lambda it: (bool(_lacking(it[1])), not _holds(it[0])))


def _started(report: Report, row: Replicas) -> Deployment | None:
    """How to start the servers of a row; None for names that no command may contain because the
    Hub cannot have them."""
    plan = report.serving_plan
    assert plan is not None
    try:
        return deployment_of(report.profile, row, workload_to_start(plan, row, report.workload))
    except GpusizerError:
        return None


def _holds(row: Replicas) -> bool:
    return row.high_replicas is not None and row.high_replicas <= row.replicas


def _offer(
    plan: ServingPlan, row: Replicas, started: Deployment | None, words: Words
) -> OfferedServers:
    hour, month = _costs(row, words)
    likely, _, _ = row.ttft_seconds
    lacking, holds = _lacking(started), _holds(row)
    at_low = ""
    if row.high_replicas is None:
        at_low = words("plan.never")
    elif not holds:
        at_low = words("plan.needs", servers=servers_count(row.high_replicas, row.boards, words))
    buy = row.costs.buy_usd
    return OfferedServers(
        gpu=row.gpu.name,
        runs=configuration(row.estimate, words),
        servers=servers_count(row.replicas, row.boards, words),
        first_token=words("seconds", time=words.speed(likely, 2)),
        waits=waits_text(plan.target, row, words),
        hour=hour,
        month=month,
        buy=DASH if buy is None else words.usd(buy),
        holds=holds,
        at_low=at_low,
        lacking=words(f"plan.no_{lacking}") if lacking else "",
    )


def _costs(row: Replicas, words: Words) -> tuple[tuple[str, str], tuple[str, str]]:
    """Write the cost of an hour and of a month: owned where one buys such boards and that costs
    less, with the rent below it; else the rent."""
    costs = row.costs
    usd, rented = firm_usd_per_hour(row.gpu, costs)
    rent = costs.rent_usd_per_hour

    def cells(hours: int) -> tuple[str, str]:
        if usd is None:
            return DASH, ""
        first = words("plan.rented" if rented else "plan.owned", price=words.usd(usd * hours))
        beside = None if rented else rent
        other = "" if beside is None else words("plan.rented", price=words.usd(beside * hours))
        return first, other

    return cells(1), cells(HOURS_OF_A_MONTH)


def _lacking(started: Deployment | None) -> str:
    """Return what is missing until the servers can start, "" where nothing is."""
    if started is None or not started.replica.text:
        return "command"
    if any(note.code in _MAKES for note in started.replica.notes):
        return "weights"
    return "" if started.compose or started.kubernetes else "image"
