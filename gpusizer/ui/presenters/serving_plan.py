"""The replicas that meet a serving target, as a table above the ranking."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.launch.deployment import cheapest_deployment
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.serving_rows import Replicas, ServingPlan
from gpusizer.ui.presenters.pieces.grid import known
from gpusizer.ui.presenters.pieces.html import Html, el, fold, join, section, small
from gpusizer.ui.presenters.pieces.losses import configuration
from gpusizer.ui.presenters.pieces.table import Columns, table_html
from gpusizer.ui.presenters.pieces.words import Words

_SHOWN = 3
PLAN_ROWS = 12
"""Ways that a page has, all but the first ones folded; the JSON has as many as it is asked for."""
_ENDLESS = "∞"  # requests pile up


def serving_plan_html(plan: ServingPlan, profile: ModelProfile, words: Words) -> Html:
    """Write the ways to meet the target, the cheapest first, and how to start that one."""
    target = plan.target
    return section(
        "plan",
        words.heading(
            "plan",
            rate=words.number(target.requests_per_second, "g"),
            prompt=words.whole(target.prompt_tokens),
            answer=words.whole(target.answer_tokens),
        ),
        table_html(_columns(words), plan.rows[:_SHOWN], words, "gs-ranked")
        if plan.rows
        else el("p", words("plan.empty"), class_="gs-empty"),
        _deployment(plan, profile, words),
        _further(plan.rows[_SHOWN:PLAN_ROWS], words),
        words.listed(plan.notes, "gs-notes"),
    )


def _deployment(plan: ServingPlan, profile: ModelProfile, words: Words) -> Html | None:
    """Write the command of a replica and the files that start all of them, folded; that there is
    none, and why."""
    found = cheapest_deployment(plan, profile)
    if found is None:
        return None
    if not found.replica.text:
        none = el("p", words("launch.none"), class_="gs-small")
        return join((none, words.listed(found.replica.notes, "gs-notes")))
    engine = plan.rows[0].estimate.engine.name
    blocks = {"compose.yaml": found.compose, "kubernetes.yaml": found.kubernetes}
    return fold(
        words("plan.deploy"),
        words.code(engine, found.replica.text, found.replica.language),
        join(words.code(name, text, "yaml") for name, text in blocks.items() if text),
        words.listed((*found.replica.notes, *found.notes), "gs-notes"),
        class_="gs-launch",
    )


def _further(rows: Sequence[Replicas], words: Words) -> Html | None:
    """Write the ways after the first ones, folded; None where there are none."""
    if not rows:
        return None
    table = table_html(_columns(words), rows, words, "gs-ranked")
    return fold(words("plan.further", count=words.whole(len(rows))), table)


def _columns(words: Words) -> Columns[Replicas]:
    def replicas(row: Replicas) -> str:
        count = words.whole(row.boards)
        return words("plan.replicas", replicas=words.whole(row.replicas), count=count)

    def users(row: Replicas) -> Html:
        room = words("plan.room", count=words.whole(row.most_users))
        return _cell(words.number(row.users, "g"), room)

    return {
        "gpu": lambda row: _cell(row.gpu.name, configuration(row.estimate, words)),
        "plan_gpus": lambda row: _gpus(row, words),
        "plan_replicas": replicas,
        "plan_users": users,
        "plan_ttft": lambda row: _first_token(row, words),
        "plan_rate": lambda row: words.speed(row.user_tokens_per_second),
        "buy": lambda row: known(row.costs.buy_usd, words.usd),
        "rent": lambda row: known(row.costs.rent_usd_per_hour, words.usd),
    }


def _cell(text: str, small_print: str | None) -> Html:
    return join((el("strong", text), small(small_print)))


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
