"""What a training needs, as plain text."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.answers.training_report import RankedTraining, TrainingEstimateRow, TrainingReport
from gpusizer.cli.conclusion import conclusion_text
from gpusizer.cli.output import (
    Columns,
    boards_text,
    gib,
    gib_span,
    lines_text,
    number,
    table,
    verdict_text,
)
from gpusizer.cli.summary import TRAINED
from gpusizer.cli.tables import profile_text
from gpusizer.core.units import format_gib
from gpusizer.text import say_note, text
from gpusizer.training.ladder import Rung


def _likely(part: str) -> Callable[[TrainingEstimateRow], str]:
    return lambda row: gib(getattr(row.memory, part).likely)


def _bytes(part: str) -> Callable[[TrainingEstimateRow], str]:
    return lambda row: f"{getattr(row.per_parameter, part):.2f}"


def _frozen(row: TrainingEstimateRow) -> str:
    frozen = row.per_parameter.frozen
    return "-" if frozen is None else f"{frozen:.2f}"


_AMOUNTS = ("weights", "gradients", "optimizer", "activations", "logits", "buffers")
_ESTIMATES: Columns[TrainingEstimateRow] = {
    "method": lambda row: row.plan.method + ("*" if row.asked else ""),
    "trained": lambda row: f"{row.memory.trainable:,}",
    **{name: _likely(name) for name in _AMOUNTS},
    "reserve": _likely("overhead"),
    "needs": _likely("needed"),
    "low-high": lambda row: gib_span(row.memory.needed),
    "peak at": lambda row: row.memory.phase,
}
_PARAMETERS: Columns[TrainingEstimateRow] = {
    "method": lambda row: row.plan.method,
    "weights": _bytes("weights"),
    "gradients": _bytes("gradients"),
    "optimizer": _bytes("optimizer"),
    "FP32 copies": _bytes("masters"),
    "trained, total": _bytes("total"),
    "frozen": _frozen,
}
_RANKING: Columns[RankedTraining] = {
    "#": lambda item: str(item.rank),
    **TRAINED,
    "kWh": lambda item: number(item.cost.energy_kwh, ",.3g"),
}
_CHEAPEST: Columns[RankedTraining] = {
    "method": lambda item: item.fit.plan.method,
    **{name: _RANKING[name] for name in ("GPUs", "divided", "verdict", "hours", "rent USD")},
}
_LADDER: Columns[Rung] = {
    "saves GiB": lambda rung: gib(rung.saving_bytes),
    "alone": lambda rung: gib(rung.alone_bytes),
    "then needs": lambda rung: gib(rung.total_bytes),
    "fits": lambda rung: {None: "-", True: "yes", False: "no"}[rung.fits],
    "what": lambda rung: say_note(rung.note),
}


def training_text(report: TrainingReport) -> str:
    """Write profile, memory by method, bytes per parameter, mitigations and ranking."""
    plan, request = report.plan, report.request
    first_row = report.estimates[0]
    parts = [
        conclusion_text(report.conclusion),
        profile_text(report.profile),
        f"Memory of one of {plan.gpus} GPU(s): {plan.sequence_length:,} tokens x"
        f" {plan.micro_batch}, {plan.optimizer}, {plan.precision}, gradient checkpointing"
        f" {plan.gradient_checkpointing}, {plan.framework}; in GiB (1 GiB = 2^30 bytes).",
        table(_ESTIMATES, report.estimates),
        "Bytes of one parameter that stay from step to step, gradients included",
        table(_PARAMETERS, report.estimates),
    ]
    if report.ladder:
        parts += [
            f"What {first_row.plan.method} could do to need less, one after the other",
            table(_LADDER, report.ladder),
        ]
    parts.append(
        f"GPUs for {request.dataset_tokens:,} tokens x {request.epochs:g} epochs"
        + ("" if request.gpus else f" ({request.rank_by} first)")
    )
    parts.append(
        table(_RANKING, report.ranking) if report.ranking else text("answer.nothing_fits", "en")
    )
    if report.cheapest:
        parts += ["Least rent for each method", table(_CHEAPEST, report.cheapest)]
    parts += [_largest_text(item) for item in report.ranking if item.largest is not None]
    parts += [f"! {say_note(note)}" for note in report.notes]
    return "\n\n".join(parts)


def _largest_text(item: RankedTraining) -> str:
    largest, fit = item.largest, item.fit
    lines = [f"{boards_text(fit.count, fit.gpu)}: {verdict_text(fit.verdict)}"]
    if largest is not None:
        rank = "" if largest.lora_rank is None else f", or rank {largest.lora_rank:,}"
        lines.append(
            f"  holds up to {largest.sequence_length:,} tokens, or {largest.micro_batch:,}"
            f" sequences at once{rank}"
        )
    lines += [f"  {say_note(note)}" for note in item.reasons]
    if fit.memory.host:
        lines.append(f"  system memory: {format_gib(fit.memory.host)}")
    return lines_text(lines)
