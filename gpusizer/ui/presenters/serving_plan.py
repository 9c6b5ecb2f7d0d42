"""The replicas that meet a serving target, as a table above the ranking."""

from __future__ import annotations

from gpusizer.fit.losses import quality_at
from gpusizer.fit.serving_plan import Replicas, ServingPlan
from gpusizer.gpus.costs import PlanCosts
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.losses import loss_label
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.words import Words

_HEAD = ("gpu", "plan_gpus", "plan_replicas", "plan_users", "plan_ttft", "plan_rate", "buy", "rent")
_SHOWN = 12
_ENDLESS = "∞"  # requests pile up


def serving_plan_html(plan: ServingPlan | None, words: Words) -> Html | None:
    """Write the ways to meet the target, fewest GPUs first; None without one."""
    if plan is None:
        return None
    target = plan.target
    rows = [_row(row, words) for row in plan.rows[:_SHOWN]]
    head = [el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in _HEAD]
    body = (el("thead", el("tr", join(head))), el("tbody", join(rows)))
    table = el("table", *body, class_="gs-ranked")
    return el(
        "section",
        words.heading(
            "plan",
            rate=words.number(target.requests_per_second, "g"),
            prompt=words.whole(target.prompt_tokens),
            answer=words.whole(target.answer_tokens),
        ),
        el("div", table, class_="gs-scroll", tabindex=0)
        if rows
        else el("p", words("plan.empty"), class_="gs-empty"),
        words.listed(plan.notes, "gs-notes"),
        class_="gs-section",
        id="gs-plan",
    )


def _row(row: Replicas, words: Words) -> Html:
    users = words("plan.room", count=words.whole(row.most_users))
    cells = (
        _cell(row.gpu.name, _way(row.estimate, words)),
        _gpus(row, words),
        words("plan.replicas", replicas=words.whole(row.replicas), count=words.whole(row.boards)),
        _cell(words.number(row.users, "g"), users),
        _first_token(row, words),
        words.speed(row.user_tokens_per_second),
        _buy(row.costs, words),
        _rent(row.costs, words),
    )
    return el(
        "tr",
        join(
            el("td", cell, class_=_class(name), data_label=words(f"column.{name}"))
            for name, cell in zip(_HEAD, cells, strict=True)
        ),
    )


def _way(estimate: MemoryEstimate, words: Words) -> str:
    loss = loss_label(quality_at(estimate), words)
    return f"{estimate.quant.name} · {loss} · {estimate.engine.name}"


def _cell(text: str, small_print: str | None) -> Html:
    return join((el("strong", text), el("small", small_print) if small_print else None))


def _gpus(row: Replicas, words: Words) -> Html:
    """Write the likely number of GPUs, and those at both ends of the speeds' bands."""
    most = words("unknown") if row.high_replicas is None else _whole(row, row.high_replicas, words)
    band = f"{_whole(row, row.low_replicas, words)}–{most}"
    return _cell(_whole(row, row.replicas, words), band)


def _whole(row: Replicas, replicas: int, words: Words) -> str:
    return words.whole(replicas * row.boards)


def _first_token(row: Replicas, words: Words) -> Html:
    """Write the likely wait and its band, whose slow end has none where requests pile up."""
    likely, low, high = row.ttft_seconds
    most = _ENDLESS if high is None else words.speed(high, 2)
    return _cell(words("seconds", time=words.speed(likely, 2)), f"{words.speed(low, 2)}–{most}")


def _buy(costs: PlanCosts, words: Words) -> str:
    """Write the price of all boards."""
    return DASH if costs.buy_usd is None else words.usd(costs.buy_usd)


def _rent(costs: PlanCosts, words: Words) -> str:
    """Write the rent of all boards for an hour."""
    usd = costs.rent_usd_per_hour
    return DASH if usd is None else words.usd(usd)


def _class(name: str) -> str:
    return f"gs-col-{name}" if name == "gpu" else f"gs-col-{name} gs-number"
