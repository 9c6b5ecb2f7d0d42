"""The models that a card or a machine runs, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.fit.verdict import Verdict
from gpusizer.hub.listed_models import ListedModel
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.quality.boards import WorkPurpose
from gpusizer.ui.presenters.conclusion import concluded_of
from gpusizer.ui.presenters.model_scores import (
    ABOUT_BOARDS,
    boards_of,
    memory_texts,
    order_text,
    pace,
    pace_text,
    picks_html,
    quality_cell,
    quality_share,
)
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.grid import Column, marked, numbers
from gpusizer.ui.presenters.pieces.losses import configuration
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.models_for.live_use import UseNow
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.models_for.ordering import Runs

_BILLION = 10**9
_OF_TEXT: tuple[WorkPurpose, ...] = ("chat", "code", "agents", "vision")


@dataclass(frozen=True, slots=True)
class _Link:
    """A repository, the address of its answer, and what is known of it."""

    repo_id: str
    href: str
    facts: str


def models_for_html(answer: ModelsFor, words: Words) -> Markup:
    """Write the part above the list: what runs, the order, and the notes; for a purpose three
    models to pick from."""
    purpose, gpu = answer.request.work, answer.request.gpu
    hrefs = {
        row.runs.profile.repo_id: _address(row.runs.profile.repo_id, gpu, words, row.context)
        for row, _ in answer.picked
    }
    source = _source(answer.now, words)
    return render(
        "models.html",
        words,
        said=concluded_of(answer.conclusion, words, [why for _, why in answer.picked]),
        picks=picks_html(answer, hrefs, words),
        order=order_text(purpose, words) if purpose else words("reverse.order", source=source),
        boards=boards_of(answer, words) if purpose else (),
        notes=[note for note in answer.notes if not note.code.startswith(ABOUT_BOARDS)],
        newcomers=[_newcomer(model, gpu, words) for model in answer.newcomers],
        runs_none=answer.is_known and not answer.rows,
    )


def _source(use: UseNow, words: Words) -> str:
    """Say the day of the figures of use, and whether the Hub gave them now."""
    if use.as_of is None:
        return words("reverse.order_unknown")
    return words(f"reverse.order_{'live' if use.live else 'embedded'}", date=use.as_of.isoformat())


def _newcomer(model: ListedModel, gpu: str, words: Words) -> _Link:
    """Return what trends on the Hub and is not stored, as a link that sizes it."""
    facts = " · ".join(_newcomer_facts(model, words))
    return _Link(model.repo_id, _address(model.repo_id, gpu, words), facts)


def _newcomer_facts(model: ListedModel, words: Words) -> Iterator[str]:
    if model.parameters is None:
        yield words("reverse.trending.size_unknown")
    else:
        yield words("reverse.trending.size", size=words.count(model.parameters))
    if model.created is not None:
        yield f"{model.created:%Y-%m}"
    if model.license is not None:
        yield model.license


def columns(gpu: str, purpose: WorkPurpose | None = None) -> tuple[Column[RunsOn], ...]:
    """Return the columns of families that run, each by a link to its answer on the same GPU; the
    first three are those that a phone shows."""
    model: Column[RunsOn] = marked(
        "model",
        lambda row: row.runs.profile.repo_id,
        lambda row, words: _model(row, gpu, words),
    )
    speed = Column("speed" if purpose in (None, *_OF_TEXT) else "pace", pace, pace_text)
    context: Column[RunsOn] = numbers("max_context", lambda row: row.max_context, Words.whole)
    quality = marked("purpose_quality", quality_share, quality_cell, width=210)
    verdict: Column[RunsOn] = marked(
        "verdict",
        lambda row: row.runs.verdict.place,
        lambda row, words: piece(
            "verdict", words, row.runs.verdict, words.note(Note(f"how_{row.runs.how}"))
        ),
    )
    memory = marked("memory_used", lambda row: round(row.used_bytes / GIB, 2), _memory, width=140)
    size: Column[RunsOn] = numbers(
        "size", lambda row: row.runs.profile.parameters, Words.count, _BILLION, 3
    )
    released = Column("released", _day, _month)
    downloads: Column[RunsOn] = numbers(
        "downloads", lambda row: row.family.use.downloads, Words.count
    )
    first = (model, speed, context)
    if purpose is None:
        return (*first, verdict, memory, size, released, downloads)
    return (*first, quality, memory, size, released)


def _memory(row: RunsOn, words: Words) -> Markup:
    """Write the memory of the fullest device with that of system memory, or what stays free."""
    amount, *in_ram = memory_texts(row, words) or [DASH]
    spare = row.spare_bytes
    if spare is not None and spare >= 0:
        in_ram = [words("reverse.spare", amount=words.amount(spare))]
    if row.runs.verdict is Verdict.TIGHT:
        in_ram.append(words.verdict(row.runs.verdict.value))
    return piece("amount", amount, in_ram)


def _day(row: RunsOn) -> int | None:
    created = row.family.use.created
    return None if created is None else created.toordinal()


def _month(row: RunsOn, words: Words) -> str:
    created = row.family.use.created
    return DASH if created is None else f"{created:%Y-%m}"


def _model(row: RunsOn, gpu: str, words: Words) -> Markup:
    """Write the model's ID as a link to its answer on the same GPU, with its configuration."""
    repo_id = row.runs.profile.repo_id
    config = f"{configuration(row.runs.config.estimate, words)} · {words(f'task.{row.runs.task}')}"
    link = _Link(repo_id, _address(repo_id, gpu, words, row.context), config)
    return piece("model", words, link, len(row.family.copies))


def copies_html(answer: ModelsFor, words: Words) -> Markup:
    """Write the part below the list: the other repositories of the families that it shows.

    They stand outside of the grid because Gradio's table takes every click on a cell for itself,
    and gives all rows one height: the page's script shows those of a row in a box at the row.
    """
    gpu, rows = answer.request.gpu, [row for row in answer.rows if row.family.copies]
    if not rows:
        return Markup("")
    families = [
        (
            row.runs.profile.repo_id,
            [_copy(copy, gpu, row.context, words) for copy in row.family.copies],
        )
        for row in rows
    ]
    count = sum(len(row.family.copies) for row in rows)
    return render("model_copies.html", words, families=families, count=count)


def _copy(copy: Runs, gpu: str, context: int, words: Words) -> _Link:
    """Return one repository of a family: the address of its own answer, what it is, and how it
    runs."""
    kind, repo_id = copy.candidate.member.kind, copy.profile.repo_id
    quant, verdict = copy.config.estimate.quant.name, words.verdict(copy.verdict.value)
    facts = f"{words(f'release.{kind}')} · {quant} · {verdict}"
    return _Link(repo_id, _address(repo_id, gpu, words, context), facts)


def _address(repo_id: str, gpu: str, words: Words, context: int = DEFAULT_CONTEXT) -> str:
    """Return the address of a model's own answer on the same GPU."""
    used = {} if context == DEFAULT_CONTEXT else {"context": context}
    gpus = {"gpus": gpu} if gpu else {}
    return question_href({"model": repo_id, **used, **gpus}, words.language)
