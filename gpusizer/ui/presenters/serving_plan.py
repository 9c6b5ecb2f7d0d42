"""The replicas that meet a serving target, as a table above the ranking."""

from __future__ import annotations

from gpusizer.fit.serving_plan import Replicas, ServingPlan
from gpusizer.gpus.costs import PlanCosts
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.prices import price_cell
from gpusizer.ui.presenters.words import Words

_HEAD = ("gpu", "plan_gpus", "plan_replicas", "plan_users", "plan_ttft", "plan_rate", "buy", "rent")
_TEXT = frozenset({"gpu", "plan_replicas", "buy"})
_SHOWN = 12


def serving_plan_html(plan: ServingPlan | None, words: Words) -> Html | None:
    """Write the ways to meet the target, fewest GPUs first; None without one."""
    if plan is None:
        return None
    target = plan.target
    rows = [_row(row, words) for row in plan.rows[:_SHOWN]]
    head = [el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in _HEAD]
    table = el(
        "div",
        el(
            "table",
            el("thead", el("tr", join(head))),
            el("tbody", join(rows)),
            class_="gs-estimates",
        ),
        class_="gs-scroll",
        tabindex=0,
    )
    return el(
        "section",
        words.heading(
            "plan",
            rate=words.number(target.requests_per_second, "g"),
            prompt=words.whole(target.prompt_tokens),
            answer=words.whole(target.answer_tokens),
        ),
        table if rows else el("p", words("plan.empty"), class_="gs-empty"),
        words.listed(plan.notes, "gs-notes"),
        class_="gs-section",
        id="gs-plan",
    )


def _row(row: Replicas, words: Words) -> Html:
    cells = (
        _gpus(row, words),
        words("plan.replicas", replicas=words.whole(row.replicas), count=words.whole(row.boards)),
        words("plan.users", users=words.number(row.users, "g"), most=words.whole(row.most_users)),
        _first_token(row, words),
        words.speed(row.user_tokens_per_second),
        price_cell(row.costs, words),
        _rent(row.costs, words),
    )
    configuration = f"{row.estimate.quant.name} · {row.estimate.engine.name}"
    return el(
        "tr",
        el("th", row.gpu.name, el("small", configuration), scope="row", class_=_class("gpu")),
        join(
            el("td", cell, class_=_class(name), data_label=words(f"column.{name}"))
            for name, cell in zip(_HEAD[1:], cells, strict=True)
        ),
    )


def _gpus(row: Replicas, words: Words) -> Html:
    """Write the likely number of GPUs, and those at both ends of the speeds' bands."""
    most = DASH if row.high_replicas is None else words.whole(row.high_replicas * row.boards)
    band = f"{words.whole(row.low_replicas * row.boards)}–{most}"
    return join((el("strong", words.whole(row.total_boards)), " ", el("small", band)))


def _first_token(row: Replicas, words: Words) -> Html:
    likely, low, high = row.ttft_seconds
    most = DASH if high is None else words.speed(high, 2)
    time = words("seconds", time=words.speed(likely, 2))
    return join((time, " ", el("small", f"{words.speed(low, 2)}–{most}")))


def _rent(costs: PlanCosts, words: Words) -> str:
    """Write the rent of all boards for an hour."""
    usd = costs.rent_usd_per_hour
    return DASH if usd is None else words.usd(usd)


def _class(name: str) -> str:
    return f"gs-col-{name}" if name in _TEXT else f"gs-col-{name} gs-number"
