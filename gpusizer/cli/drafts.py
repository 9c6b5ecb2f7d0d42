"""A draft model as plain text: what it adds to the memory, and what speed may come of it."""

from __future__ import annotations

from gpusizer.answers.report import EstimateRow, Report
from gpusizer.cli.output import Columns, memory_columns, span, table
from gpusizer.fit.speculative_speeds import SpeculativeSpeeds
from gpusizer.memory.draft import DraftEstimate


def _of(row: EstimateRow) -> DraftEstimate:
    """The draft's part of a row, which has one."""
    assert row.estimate.draft is not None
    return row.estimate.draft


_COLUMNS: Columns[EstimateRow] = {
    "quant": lambda row: row.estimate.quant.slug,
    "draft": lambda row: _of(row).quant.slug,
    **memory_columns(lambda row: _of(row).all_gpus),
    "engine": lambda row: row.estimate.engine.slug,
}


def draft_parts(report: Report) -> list[str]:
    """Write what of each estimate is the draft model's; nothing without one."""
    draft = report.profile.draft
    rows = [row for row in report.estimates if row.estimate.draft is not None]
    if draft is None or not rows:
        return []
    title = f"Of this for the draft model {draft.profile.repo_id} ({draft.method}), in GiB"
    return [title, table(_COLUMNS, rows)]


def speculation_lines(speeds: SpeculativeSpeeds | None, users: int) -> list[str]:
    """Write the speed with guessed tokens, also of several users; nothing without a draft model."""
    if speeds is None:
        return []
    lines = []
    if speeds.decode is not None and speeds.per_user is not None:
        rate, each = speeds.decode, speeds.per_user
        shared = f", {span(each)} for each of {users:,}" if users > 1 else ""
        lines.append(
            f"  with a draft    {span(rate)} tok/s for one user"
            f" ({speeds.speedup:g} x){shared}, if {speeds.acceptance:.0%} of {speeds.guessed}"
            f" guessed tokens are accepted: {speeds.tokens_per_round:g} tokens a round"
        )
    gain = (
        "no rate of acceptance makes it faster"
        if speeds.break_even is None
        else f"faster for one user from {speeds.break_even:.0%} accepted on"
    )
    if users > 1 and speeds.break_even is not None:
        shared_gain = speeds.break_even_shared
        gain += f", for {users:,} users "
        gain += "never" if shared_gain is None else f"from {shared_gain:.0%} on"
    return [*lines, f"  {gain} ({speeds.guessed} tokens guessed ahead)"]
