"""The serving plan as plain text: replicas of a model for so many requests a second."""

from __future__ import annotations

from gpusizer.answers.report import Report
from gpusizer.cli.money import price_cell, rent_cell
from gpusizer.cli.output import lines_text, table
from gpusizer.fit.serving_plan import Replicas, ServingPlan
from gpusizer.text import say_note

_HEAD = (
    "GPUs",
    "low-high",
    "replicas",
    "quant",
    "engine",
    "users each",
    "room for",
    "mean first token s",
    "tok/s a user",
    "buy USD",
    "USD/h",
)


def plan_parts(report: Report) -> list[str]:
    """Write the plan of a request that has a target; nothing for any other."""
    plan = report.serving_plan
    if plan is None:
        return []
    parts = [_title(plan)]
    if plan.rows:
        parts.append(table(_HEAD, [_cells(row) for row in plan.rows]))
    return [*parts, lines_text(f"! {say_note(note)}" for note in plan.notes)]


def _title(plan: ServingPlan) -> str:
    target = plan.target
    asked = (
        f"{target.requests_per_second:g} requests a second, {target.prompt_tokens:,} tokens of"
        f" prompt and {target.answer_tokens:,} of answer"
    )
    if target.ttft_seconds is not None:
        asked += f", first token within {target.ttft_seconds * 1000:g} ms on average"
    return f"Fewest GPUs for {asked}"


def _cells(row: Replicas) -> tuple[str, ...]:
    likely, low, high = row.ttft_seconds
    most = "?" if row.high_replicas is None else f"{row.high_replicas * row.boards}"
    return (
        f"{row.total_boards} x {row.gpu.name}",
        f"{row.low_replicas * row.boards}-{most}",
        f"{row.replicas} of {row.boards}",
        row.estimate.quant.slug,
        row.estimate.engine.slug,
        f"{row.users:g}",
        f"{row.most_users:,}",
        f"{likely:g} ({low:g}-{'?' if high is None else f'{high:g}'})",
        f"{row.user_tokens_per_second:g}",
        price_cell(row.costs),
        rent_cell(row.costs),
    )
