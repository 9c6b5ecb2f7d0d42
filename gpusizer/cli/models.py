"""The models that run on a GPU or a machine, as plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from gpusizer.answers.models_for.model_use import ModelUse
from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.answers.models_for.ordering import ORDER, FamilyUse, use_of
from gpusizer.answers.models_for.runs_on import RunsOn
from gpusizer.answers.models_for.search import Runs
from gpusizer.cli.conclusion import conclusion_text
from gpusizer.cli.losses import loss_word
from gpusizer.cli.output import (
    UNKNOWN,
    Columns,
    boards_text,
    gib,
    number,
    span,
    table,
    verdict_text,
)
from gpusizer.core.messages import Note
from gpusizer.core.printable import printable
from gpusizer.core.units import format_count
from gpusizer.hub.listed_models import ListedModel
from gpusizer.text import say_error, say_note, text


def models_text(answer: ModelsFor, *, copies: bool = False) -> str:
    """List the families that run, one row each; with `copies` their others indented below."""
    running, considered = len(answer.found), answer.considered
    of = "" if len(answer.families) == running else f" in {len(answer.families)} families"
    parts = [
        conclusion_text(answer.conclusion),
        f"Models for {printable(_where(answer))}: {running} of {considered} run{of}"
        f" ({answer.request.workload.context:,} tokens of context or the model's limit,"
        f" {answer.request.workload.concurrency} at once).",
        f"Order: {ORDER}. {_figures(answer)}",
    ]
    if answer.notes:
        parts += [f"  {say_note(note)}" for note in answer.notes]
    if answer.rows:
        parts.append(table(_MODELS, _rows(answer, copies=copies)))
    else:
        parts.append(text("answer.no_model_fits", "en"))
    if answer.newcomers:
        parts.append(table(_NEWCOMERS, answer.newcomers))
    parts += [printable(f"{repo_id}: {say_error(error)}") for repo_id, error in answer.unread]
    return "\n\n".join(parts)


def _where(answer: ModelsFor) -> str:
    if answer.is_rig:
        return answer.request.hardware
    return boards_text(answer.machine.boards, answer.machine.gpu)


def _figures(answer: ModelsFor) -> str:
    """Say of which day the figures of use are."""
    day = answer.now.as_of
    if day is None:
        return "No figures of use are known."
    source = "The Hub's listing" if answer.now.live else "Embedded figures of use"
    return f"{source}: {day.isoformat()}."


def _rows(answer: ModelsFor, *, copies: bool) -> Iterator[_ModelRow]:
    """Each family, then with `copies` its other repositories."""
    for row in answer.rows:
        family = row.family
        count = str(len(family.copies)) if family.copies else ""
        yield _ModelRow(str(row.rank), row.runs, family.use, count, row)
        for runs in family.copies if copies else ():
            use = use_of(runs.profile.repo_id, answer.now.uses)
            yield _ModelRow("", runs, use, runs.candidate.member.kind, None)


@dataclass(frozen=True, slots=True)
class _ModelRow:
    """A family by its head, or a copy in it, of which no more is known than that it runs.

    Attributes:
        copies: how many the family has; of a copy what it is.
        head: how the head of a family runs.
    """

    rank: str
    runs: Runs
    use: ModelUse | FamilyUse
    copies: str
    head: RunsOn | None

    def of_head(self, write: Callable[[RunsOn], str]) -> str:
        """What is said of the head of a family alone."""
        return "" if self.head is None else write(self.head)


def _speed(row: RunsOn) -> str:
    """Tokens/s, or what the disk allows at most."""
    most = row.runs.most_tokens_per_second
    return span(row.decode) if most is None else f"at most {most:g}"


_MODELS: Columns[_ModelRow] = {
    "#": lambda row: row.rank,
    "model": lambda row: ("" if row.head else "  ") + row.runs.profile.repo_id,
    "task": lambda row: row.runs.task,
    "parameters": lambda row: format_count(row.runs.profile.parameters),
    "released": lambda row: _month(row.use.created),
    "downloads": lambda row: number(row.use.downloads),
    "copies": lambda row: row.copies,
    "quant": lambda row: row.runs.way.estimate.quant.slug,
    "loss": lambda row: loss_word(row.runs.way.estimate),
    "engine": lambda row: row.runs.way.estimate.engine.slug,
    "verdict": lambda row: verdict_text(row.runs.verdict),
    "runs": lambda row: say_note(Note(f"how_{row.runs.how}")),
    "spare GiB": lambda row: row.of_head(lambda head: gib(head.fit.way.headroom_bytes, 1)),
    "max context": lambda row: row.of_head(lambda head: number(head.fit.max_context)),
    "tok/s": lambda row: row.of_head(_speed),
}
_NEWCOMERS: Columns[ListedModel] = {
    "trending, not stored here: `size` reads it": lambda listed: listed.repo_id,
    "parameters": lambda listed: _size(listed.parameters),
    "released": lambda listed: _month(listed.created),
    "downloads": lambda listed: number(listed.downloads),
}


def _size(parameters: int | None) -> str:
    return UNKNOWN if parameters is None else format_count(parameters)


def _month(day: date | None) -> str:
    return UNKNOWN if day is None else day.strftime("%Y-%m")
