"""The command `models-for` lists the models that run on a GPU or a machine."""

from __future__ import annotations

import argparse
from datetime import date

from gpusizer.answers.models_for.model_use import Uses
from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.answers.models_for.ordering import ORDER, Family, use_of
from gpusizer.answers.models_for.search import Runs, RunsOn
from gpusizer.answers.sizer import Sizer
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.output import print_json, print_text, table
from gpusizer.core.printable import printable
from gpusizer.core.units import GIB, format_count
from gpusizer.text import say_error, say_note, text

_HEAD = (
    "#",
    "model",
    "task",
    "parameters",
    "released",
    "downloads",
    "copies",
    "quant",
    "engine",
    "verdict",
    "spare GiB",
    "max context",
    "tok/s",
)


def run_models_for(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `models-for GPU`. The words of a GPU's name need no quotes."""
    positional = {"gpu": " ".join(arguments.gpu), "models": arguments.models}
    fields = {**request_fields(arguments), **positional, "model_task": arguments.model_task}
    answer = sizer.models_for(fields)
    if arguments.json:
        print_json(answer.to_json(say_note))
    else:
        print_text(models_text(answer, copies=arguments.copies))


def models_text(answer: ModelsFor, *, copies: bool = False) -> str:
    """List the families that run, one row each; with `copies` their others indented below."""
    running, considered = len(answer.found), answer.considered
    of = "" if len(answer.families) == running else f" in {len(answer.families)} families"
    parts = [
        f"Models for {printable(_where(answer))}: {running} of {considered} run{of}"
        f" ({answer.request.workload.context:,} tokens of context or the model's limit,"
        f" {answer.request.workload.concurrency} at once).",
        f"Order: {ORDER}. {_figures(answer)}",
    ]
    if answer.notes:
        parts += [f"  {say_note(note)}" for note in answer.notes]
    if answer.rows:
        parts.append(table(_HEAD, _lines(answer, copies=copies)))
    else:
        parts.append(text("answer.no_model_fits", "en"))
    if answer.newcomers:
        parts.append(_newcomers(answer))
    parts += [printable(f"{repo_id}: {say_error(error)}") for repo_id, error in answer.unread]
    return "\n\n".join(parts)


def _where(answer: ModelsFor) -> str:
    if answer.gpu is not None:
        return f"{answer.boards} x {answer.gpu.name}"
    return answer.request.hardware


def _figures(answer: ModelsFor) -> str:
    """Say of which day the figures of use are."""
    day = answer.now.as_of
    if day is None:
        return "No figures of use are known."
    source = "The Hub's listing" if answer.now.live else "Embedded figures of use"
    return f"{source}: {day.isoformat()}."


def _lines(answer: ModelsFor, *, copies: bool) -> list[tuple[str, ...]]:
    lines = []
    for rank, (row, family) in enumerate(zip(answer.rows, answer.families, strict=False), 1):
        lines.append(_cells(rank, row, family))
        if copies:
            lines += [_copy_cells(runs, answer.now.uses) for runs in family.copies]
    return lines


def _cells(rank: int, row: RunsOn, family: Family) -> tuple[str, ...]:
    runs = row.runs
    fit = row.fit or runs.plan
    assert fit is not None
    return (
        str(rank),
        runs.profile.repo_id,
        runs.task,
        format_count(runs.profile.parameters),
        _month(family.use.created),
        _counted(family.use.downloads),
        str(len(family.copies)) if family.copies else "",
        fit.estimate.quant.slug,
        fit.estimate.engine.slug,
        text(f"verdict.{runs.verdict.value}", "en"),
        f"{fit.headroom_bytes / GIB:.1f}",
        "unknown" if fit.max_context is None else f"{fit.max_context:,}",
        _speed(row),
    )


def _speed(row: RunsOn) -> str:
    """Tokens/s, or what the disk allows at most."""
    most = row.runs.most_tokens_per_second
    if most is not None:
        return f"at most {most:g}"
    return "unknown" if row.decode is None else f"{row.decode.low:g}-{row.decode.high:g}"


def _copy_cells(runs: Runs, uses: Uses) -> tuple[str, ...]:
    use = use_of(runs.profile.repo_id, uses)
    return (
        "",
        f"  {runs.profile.repo_id}",
        runs.task,
        format_count(runs.profile.parameters),
        _month(use.created),
        _counted(use.downloads),
        runs.candidate.member.kind,
        runs.shown_estimate.quant.slug,
        runs.shown_estimate.engine.slug,
        text(f"verdict.{runs.verdict.value}", "en"),
        "",
        "",
        "",
    )


def _newcomers(answer: ModelsFor) -> str:
    """Name what trends on the Hub and is not stored; `size` reads it."""
    lines = [
        (
            listed.repo_id,
            _size(listed.parameters),
            _month(listed.created),
            _counted(listed.downloads),
        )
        for listed in answer.newcomers
    ]
    head = ("trending, not stored here: `size` reads it", "parameters", "released", "downloads")
    return table(head, [tuple(map(printable, line)) for line in lines])


def _size(parameters: int | None) -> str:
    return "unknown" if parameters is None else format_count(parameters)


def _month(day: date | None) -> str:
    return "unknown" if day is None else day.strftime("%Y-%m")


def _counted(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"
