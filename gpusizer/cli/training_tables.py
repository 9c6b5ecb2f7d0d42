"""The command `train` prints what a training needs, as JSON or as text."""

from __future__ import annotations

import argparse

from gpusizer.answers.sizer import Sizer
from gpusizer.answers.trainer import train
from gpusizer.answers.training_report import RankedTraining, TrainingEstimateRow, TrainingReport
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.choices import training_choice_parts
from gpusizer.cli.output import lines_text, print_json, print_text, table
from gpusizer.cli.tables import profile_text
from gpusizer.core.units import GIB, format_gib
from gpusizer.text import say_note, text
from gpusizer.training.ladder import Rung

_UNKNOWN = "unknown"
_ESTIMATE_HEAD = (
    "method",
    "trained",
    "weights",
    "gradients",
    "optimizer",
    "activations",
    "logits",
    "buffers",
    "reserve",
    "needs",
    "low-high",
    "peak at",
)
_PARAMETER_HEAD = (
    "method",
    "weights",
    "gradients",
    "optimizer",
    "FP32 copies",
    "trained, total",
    "frozen",
)
_RANKING_HEAD = (
    "#",
    "GPUs",
    "divided",
    "verdict",
    "spare GiB",
    "tok/s",
    "hours",
    "USD",
    "kWh",
)
_CHEAPEST_HEAD = ("method", "GPUs", "divided", "verdict", "hours", "USD")
_LADDER_HEAD = ("saves GiB", "alone", "then needs", "fits", "what")


def run_train(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `train MODEL`."""
    report = train(sizer.fetch, sizer.catalogue, request_fields(arguments), sizer.parse)
    if arguments.json:
        print_json(report.to_json(say_note))
    else:
        print_text(training_text(report))


def training_text(report: TrainingReport) -> str:
    """Write profile, memory by method, bytes per parameter, mitigations and ranking."""
    plan, request = report.plan, report.request
    first_row = report.estimates[0]
    parts = [
        profile_text(report.profile),
        f"Memory of one of {plan.gpus} GPU(s): {plan.sequence_length:,} tokens x"
        f" {plan.micro_batch}, {plan.optimizer}, {plan.precision}, gradient checkpointing"
        f" {plan.gradient_checkpointing}, {plan.framework}; in GiB (1 GiB = 2^30 bytes).",
        table(_ESTIMATE_HEAD, [_estimate_cells(row) for row in report.estimates]),
        "Bytes of one parameter that stay from step to step, gradients included",
        table(_PARAMETER_HEAD, [_parameter_cells(row) for row in report.estimates]),
    ]
    if report.ladder:
        parts += [
            f"What {first_row.plan.method} could do to need less, one after the other",
            table(_LADDER_HEAD, [_rung_cells(rung) for rung in report.ladder]),
        ]
    parts += training_choice_parts(report)
    parts.append(
        f"GPUs for {request.dataset_tokens:,} tokens x {request.epochs:g} epochs"
        + ("" if request.gpus else f" ({request.rank_by} first)")
    )
    parts.append(
        table(_RANKING_HEAD, [_ranked_cells(item) for item in report.ranking])
        if report.ranking
        else text("answer.nothing_fits", "en")
    )
    if report.cheapest:
        parts += ["Least rent for each method", table(_CHEAPEST_HEAD, _cheapest(report))]
    parts += [_largest_text(item) for item in report.ranking if item.largest is not None]
    parts += [f"! {say_note(note)}" for note in report.notes]
    return "\n\n".join(parts)


def _estimate_cells(row: TrainingEstimateRow) -> tuple[str, ...]:
    memory = row.memory
    amounts = (
        memory.weights,
        memory.gradients,
        memory.optimizer,
        memory.activations,
        memory.logits,
        memory.buffers,
        memory.overhead,
        memory.needed,
    )
    return (
        row.plan.method + ("*" if row.asked else ""),
        f"{memory.trainable:,}",
        *(f"{amount.likely / GIB:.2f}" for amount in amounts),
        f"{memory.needed.low / GIB:.1f}-{memory.needed.high / GIB:.1f}",
        memory.phase,
    )


def _parameter_cells(row: TrainingEstimateRow) -> tuple[str, ...]:
    parameter_bytes = row.per_parameter
    return (
        row.plan.method,
        *(
            f"{value:.2f}"
            for value in (
                parameter_bytes.weights,
                parameter_bytes.gradients,
                parameter_bytes.optimizer,
                parameter_bytes.masters,
            )
        ),
        f"{parameter_bytes.total:.2f}",
        "-" if parameter_bytes.frozen is None else f"{parameter_bytes.frozen:.2f}",
    )


def _rung_cells(rung: Rung) -> tuple[str, ...]:
    return (
        f"{rung.saving_bytes / GIB:.2f}",
        f"{rung.alone_bytes / GIB:.2f}",
        f"{rung.total_bytes / GIB:.2f}",
        {None: "-", True: "yes", False: "no"}[rung.fits],
        say_note(rung.note),
    )


def _ranked_cells(item: RankedTraining) -> tuple[str, ...]:
    fit, cost = item.fit, item.cost
    return (
        str(item.rank),
        f"{fit.count} x {fit.gpu.name}",
        fit.plan.sharding,
        text(f"verdict.{fit.verdict.value}", "en"),
        f"{fit.headroom_bytes / GIB:.1f}",
        _UNKNOWN if item.rate is None else f"{item.rate.low:,.0f}-{item.rate.high:,.0f}",
        *(_number(value) for value in (cost.hours, cost.usd, cost.energy_kwh)),
    )


def _cheapest(report: TrainingReport) -> list[tuple[str, ...]]:
    return [
        (
            item.fit.plan.method,
            f"{item.fit.count} x {item.fit.gpu.name}",
            item.fit.plan.sharding,
            text(f"verdict.{item.fit.verdict.value}", "en"),
            _number(item.cost.hours),
            _number(item.cost.usd),
        )
        for item in report.cheapest
    ]


def _largest_text(item: RankedTraining) -> str:
    largest, fit = item.largest, item.fit
    lines = [f"{fit.count} x {fit.gpu.name}: {text(f'verdict.{fit.verdict.value}', 'en')}"]
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


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.3g}"
