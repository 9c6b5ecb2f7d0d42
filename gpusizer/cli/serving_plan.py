"""The serving plan as plain text: replicas of a model for so many requests a second."""

from __future__ import annotations

from gpusizer.answers.launch.deployment import cheapest_deployment
from gpusizer.answers.report import Report
from gpusizer.cli.output import Columns, lines_text, table
from gpusizer.cli.summary import REPLICAS
from gpusizer.fit.serving_plan import Replicas, ServingPlan
from gpusizer.text import say_note


def _boards(row: Replicas) -> str:
    most = "?" if row.high_replicas is None else f"{row.high_replicas * row.boards}"
    return f"{row.low_replicas * row.boards}-{most}"


def _first_token(row: Replicas) -> str:
    likely, low, high = row.ttft_seconds
    return f"{likely:g} ({low:g}-{'?' if high is None else f'{high:g}'})"


_COLUMNS: Columns[Replicas] = {
    **REPLICAS,
    "first token s": _first_token,
    "GPUs, low-high": _boards,
    "users each": lambda row: f"{row.users:g}",
    "room for": lambda row: f"{row.most_users:,}",
    "late s": lambda row: f"{row.ttft_late_seconds:g}",
}


def plan_parts(report: Report) -> list[str]:
    """Write the plan of a request that has a target; nothing for any other."""
    plan = report.serving_plan
    if plan is None:
        return []
    parts = [_title(plan)]
    if plan.rows:
        parts.append(table(_COLUMNS, plan.rows))
    return [*parts, *_start(report, plan), lines_text(f"! {say_note(note)}" for note in plan.notes)]


def _start(report: Report, plan: ServingPlan) -> list[str]:
    """Write the command of one replica of the first row, and where the files for all are."""
    found = cheapest_deployment(plan, report.profile)
    if found is None or not found.replica.text:
        return []
    files = "\nCompose file and Kubernetes manifest: --json, serving_plan.deploy"
    return [f"One replica:\n{found.replica.text}{files if found.compose else ''}"]


def _title(plan: ServingPlan) -> str:
    target = plan.target
    asked = (
        f"{target.requests_per_second:g} requests a second, {target.prompt_tokens:,} tokens of"
        f" prompt and {target.answer_tokens:,} of answer"
    )
    if target.ttft_seconds is not None:
        asked += (
            f", first token within {target.ttft_seconds * 1000:g} ms for"
            f" {target.ttft_percentile:g} % of them"
        )
    return f"Cheapest GPUs for {asked}"
