"""The first place of a ranking and the alternatives to it, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.report import Report, line
from gpusizer.answers.training_report import RankedTraining, TrainingAlternative, TrainingReport
from gpusizer.cli.output import lines_text
from gpusizer.fit.ranking import Alternative, Ranked
from gpusizer.text import say_note


def choice_parts(report: Report) -> list[str]:
    """Write the first place and its alternatives; nothing where GPUs are named or none runs it."""
    if report.request.gpus or not report.ranking:
        return []
    first = f"{report.request.rank_by}: {_serving(report.ranking[0])}"
    return [_lines(first, [_alternative(item) for item in report.alternatives])]


def training_choice_parts(report: TrainingReport) -> list[str]:
    """Write the same for a training."""
    if report.request.gpus or not report.ranking:
        return []
    first = report.ranking[0]
    named = f"{report.request.rank_by}: {_training(first)}: {line(map(say_note, first.why))}"
    return [_lines(named, [_training_alternative(item) for item in report.alternatives])]


def _lines(first: str, alternatives: Sequence[str]) -> str:
    return lines_text([first, *(f"  or {alternative}" for alternative in alternatives)])


def _serving(item: Ranked) -> str:
    return f"{_boards(item)}: {line(map(say_note, item.why))}"


def _boards(item: Ranked) -> str:
    fit = item.fit
    return f"{fit.count} x {fit.gpu.name} in {fit.estimate.quant.slug}"


def _alternative(alternative: Alternative) -> str:
    name = "the same" if alternative.is_first else _boards(alternative.item)
    return f"{alternative.kind}: {name}: {line(map(say_note, alternative.why))}"


def _training(item: RankedTraining) -> str:
    return f"{item.fit.count} x {item.fit.gpu.name}"


def _training_alternative(alternative: TrainingAlternative) -> str:
    name = "the same" if alternative.is_first else _training(alternative.item)
    return f"{alternative.kind}: {name}: {line(map(say_note, alternative.why))}"
