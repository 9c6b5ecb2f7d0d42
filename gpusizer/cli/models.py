"""The command `models-for` lists the models that run on a GPU or a machine."""

from __future__ import annotations

import argparse

from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.answers.models_for.search import RunsOn
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
        print_text(models_text(answer))


def models_text(answer: ModelsFor) -> str:
    """List models that surely fit, largest first, then tight ones, then those that need offload."""
    running, considered = len(answer.found), answer.considered
    parts = [
        f"Models for {printable(_where(answer))}: {running} of {considered} run, largest first"
        f" ({answer.request.workload.context:,} tokens of context or the model's limit,"
        f" {answer.request.workload.concurrency} at once)."
    ]
    if answer.notes:
        parts += [f"  {say_note(note)}" for note in answer.notes]
    if answer.rows:
        parts.append(table(_HEAD, [_cells(rank, row) for rank, row in enumerate(answer.rows, 1)]))
    else:
        parts.append(text("answer.no_model_fits", "en"))
    parts += [printable(f"{repo_id}: {say_error(error)}") for repo_id, error in answer.unread]
    return "\n\n".join(parts)


def _where(answer: ModelsFor) -> str:
    if answer.gpu is not None:
        return f"{answer.boards} x {answer.gpu.name}"
    assert answer.rig is not None
    return answer.request.rig


def _cells(rank: int, row: RunsOn) -> tuple[str, ...]:
    runs = row.runs
    fit = row.fit or runs.plan
    assert fit is not None
    return (
        str(rank),
        runs.profile.repo_id,
        runs.task,
        format_count(runs.profile.parameters),
        fit.estimate.quant.slug,
        fit.estimate.engine.slug,
        text(f"verdict.{runs.verdict.value}", "en"),
        f"{fit.headroom_bytes / GIB:.1f}",
        "unknown" if fit.max_context is None else f"{fit.max_context:,}",
        "unknown" if row.decode is None else f"{row.decode.low:g}-{row.decode.high:g}",
    )
