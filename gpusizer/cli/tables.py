"""Reports as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.comparison import Comparison, GpuListing
from gpusizer.answers.model_card.verdicts import JudgedStatement
from gpusizer.answers.report import EstimateRow, Report
from gpusizer.cli.conclusion import conclusion_text
from gpusizer.cli.drafts import draft_parts, speculation_lines
from gpusizer.cli.evidence_text import evidence_text
from gpusizer.cli.losses import loss_lines, loss_text
from gpusizer.cli.money import money_text, purposes_text
from gpusizer.cli.output import (
    UNKNOWN,
    Columns,
    boards_text,
    gib_span,
    lines_text,
    memory_columns,
    number,
    span,
    table,
    verdict_text,
)
from gpusizer.cli.plans import RIG, plan_lines, rig_lines, rig_rows
from gpusizer.cli.serving_plan import plan_parts
from gpusizer.cli.summary import CARDS, PLACES
from gpusizer.core.units import format_count, format_gb, format_gib
from gpusizer.fit.card_statements import statements_on
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.speed import Speeds
from gpusizer.fit.system_memory import RAM_SPEED_NOTES
from gpusizer.gpus import Gpu
from gpusizer.gpus.purpose import purpose_of
from gpusizer.hub.quantized_repos import QuantizedRepo
from gpusizer.model.profile import ModelProfile
from gpusizer.text import say_note, text

_QUOTE_CHARS = 60


def _quote(item: JudgedStatement) -> str:
    quote = item.statement.quote
    return quote if len(quote) <= _QUOTE_CHARS else f"{quote[: _QUOTE_CHARS - 1]}…"


def _size(repo: QuantizedRepo) -> str:
    return UNKNOWN if repo.weight_bytes is None else format_gb(repo.weight_bytes)


_CARD: Columns[JudgedStatement] = {
    "line": lambda item: str(item.statement.line),
    "the author says": _quote,
    "verdict": lambda item: item.verdict.value.replace("_", " "),
    "reason": lambda item: say_note(item.reason),
}
_PUBLISHED: Columns[QuantizedRepo] = {
    "quantized repository": lambda repo: repo.repo_id,
    "format": lambda repo: repo.form,
    "downloads": lambda repo: f"{repo.downloads:,}",
    "files": _size,
}
_ESTIMATES: Columns[EstimateRow] = {
    "quant": lambda row: row.estimate.quant.slug + ("*" if row.estimate.native else ""),
    "bits/w": lambda row: f"{row.bits_per_weight:.2f}",
    "loss": lambda row: loss_text(row.estimate),
    **memory_columns(lambda row: row.estimate.all_gpus),
    "low-high": lambda row: gib_span(row.estimate.all_gpus.total),
    "engine": lambda row: row.estimate.engine.slug,
}
_RANKING: Columns[Ranked] = {
    "#": lambda item: str(item.rank),
    **PLACES,
    "served tok/s": lambda item: span(item.speeds.serving if item.speeds else None),
}
_GPUS: Columns[Gpu] = {
    "slug": lambda gpu: gpu.slug,
    **CARDS,
    "for": lambda gpu: text(f"purpose.{purpose_of(gpu).label}", "en"),
}


def report_text(report: Report) -> str:
    """Write the conclusion, then profile, memory by quantization and ranking."""
    workload = report.workload
    parts = [
        conclusion_text(report.conclusion),
        profile_text(report.profile),
        f"Memory for {workload.context:,} tokens of context, {workload.concurrency} sequence"
        " at once, in GiB (1 GiB = 2^30 bytes). * = as stored in the repository.",
        table(_ESTIMATES, report.estimates),
        *draft_parts(report),
        *rig_parts(report),
        f"GPUs ({report.request.rank_by} first)" if not report.request.gpus else "GPUs asked for",
        *_ranking_parts(report),
        *plan_parts(report),
        *(say_note(note) for note in report.notes),
        *_asked_parts(report),
    ]
    if report.model_card is not None and report.model_card.statements:
        parts.append(table(_CARD, report.model_card.statements))
    if report.quantized_repos:
        parts.append(table(_PUBLISHED, report.quantized_repos))
    return "\n\n".join(parts)


def rig_parts(report: Report) -> list[str]:
    """Write the plan for the request's machine of mixed GPUs; nothing where it names none."""
    if report.rig is None:
        return []
    return [
        lines_text(rig_lines(report.rig, report.workload)),
        table(RIG, rig_rows(report.rig)),
    ]


def profile_text(profile: ModelProfile) -> str:
    """Write the facts of a model, one on a line."""
    stored = ", ".join(
        f"{dtype} {count:,}" for dtype, count in profile.stored_parameters_by_dtype.items()
    )
    lines = [
        f"{profile.repo_id} @ {profile.revision} ({profile.source}, {profile.retrieved_at[:10]})",
        f"  parameters      {profile.parameters:,} ({format_count(profile.parameters)})",
        f"  read per token  {profile.active_parameters:,}",
        f"  stored          {stored}",
        f"  weight bytes    {profile.weight_bytes:,} = {format_gb(profile.weight_bytes)}"
        f" = {format_gib(profile.weight_bytes)} in {profile.file_count} file(s),"
        f" {profile.tensor_count:,} tensors",
        f"  max context     {number(profile.max_context)}",
        f"  KV cache        {profile.kv_cache_bytes_per_token:,} bytes per token at 16 bits",
    ]
    lines += [f"  ! {say_note(note)}" for note in profile.caveats]
    return lines_text(lines)


def _ranking_parts(report: Report) -> list[str]:
    """Write the ranking; for one that filters have emptied, the notes on why."""
    if report.ranking:
        return [table(_RANKING, report.ranking)]
    return [] if report.request.filters else [text("answer.nothing_fits", "en")]


def _asked_parts(report: Report) -> list[str]:
    """Write the GPUs that the request names, each with what it can be checked by."""
    parts = []
    for item in report.ranking:
        if item.largest is not None:
            evidence = evidence_text(report.profile, item, report.workload)
            parts += [_asked_text(item), *([evidence] if evidence else [])]
    return parts


def _asked_text(item: Ranked) -> str:
    return f"{consulted_text(item)}\n\n{money_text(item)}"


_ABOUT_SPEED = (*RAM_SPEED_NOTES, "rig_from_disk", "disk_speed")
"""Reasons that say what a speed assumes, or what bounds it."""


def consulted_text(item: Ranked) -> str:
    """Write the limits of a GPU that the request names, and what would make the model fit on it."""
    fit = item.fit
    lines = [f"{boards_text(fit.count, fit.gpu)}: {verdict_text(fit.verdict)}"]
    lines += loss_lines(fit.estimate)
    if item.largest is not None:
        lines += [f"  {say_note(note)}" for note in item.largest.notes()]
    if item.speeds is not None:
        lines += _speed_lines(item.speeds)
        lines += speculation_lines(item.speculation, item.speeds.users)
    lines += [f"  ! {say_note(note)}" for note in item.reasons if note.code in _ABOUT_SPEED]
    lines += [f"  ! {say_note(note)}" for note in statements_on(fit.way)]
    if item.advice:
        alone = any(suggestion.enough for suggestion in item.advice)
        lines.append(
            f"  {'To make it fit, suggestion of:' if alone else 'No single change is enough:'}"
        )
    for suggestion in item.advice:
        saved, spare = (
            format_gib(suggestion.saving_bytes),
            format_gib(abs(suggestion.headroom_bytes)),
        )
        left = "to spare" if suggestion.headroom_bytes >= 0 else "still missing"
        alone_not = "" if suggestion.enough else "; not enough alone"
        lines.append(
            f"  - {say_note(suggestion.note)} (gains {saved} a GPU, {spare} {left}{alone_not})"
        )
    if item.plans:
        lines += ["  Ways to run it:", *plan_lines(item.plans)]
    return lines_text(lines)


def _speed_lines(speeds: Speeds) -> list[str]:
    """Write every speed in words, with the assumptions behind it."""
    sequence = f"{speeds.prompt:,} tokens of prompt and {speeds.answer:,} of answer"
    lines = [
        f"  one user        {span(speeds.decode)} tok/s, first token after"
        f" {span(speeds.first_token)} s, prompt at {span(speeds.prefill)} tok/s"
    ]
    if speeds.users > 1:
        lines.append(
            f"  {speeds.users:,} users".ljust(18)
            + f"{span(speeds.per_user)} tok/s each, {span(speeds.total)} in all"
        )
    lines.append(
        f"  {speeds.serving_users:,} served".ljust(18)
        + f"{span(speeds.serving)} tok/s in all, prompts read in between"
    )
    return [*lines, f"  (speeds assume {sequence}; low to high)"]


def listing_text(listing: GpuListing) -> str:
    """The catalogue or a part of it, or why there is nothing of it."""
    if not listing.gpus:
        return lines_text(map(say_note, listing.notes))
    return gpus_text(listing.gpus)


def gpus_text(gpus: Sequence[Gpu]) -> str:
    """GPUs as a table."""
    return table(_GPUS, gpus)


def comparison_text(comparison: Comparison) -> str:
    """Write GPUs side by side; with a model also how it runs on each."""
    gpus = [item.gpu for item in comparison.items]
    parts = [conclusion_text(comparison.conclusion), gpus_text(gpus), purposes_text(gpus)]
    if comparison.profile is not None:
        parts.insert(1, profile_text(comparison.profile))
        fitted = [item.ranked for item in comparison.items if item.ranked is not None]
        parts.append(table(_RANKING, fitted))
        parts += [_asked_text(item) for item in fitted]
        parts += [
            f"{r.fit.gpu.name}: {say_note(note)}"
            for r in fitted
            for note in r.reasons
            if note not in statements_on(r.fit.way)
        ]
    else:
        parts += [f"! {say_note(note)}" for gpu in gpus for note in gpu.statements]
    return "\n\n".join(parts)
