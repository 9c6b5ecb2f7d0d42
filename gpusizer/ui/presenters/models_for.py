"""The models that a card or a machine runs, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from gpusizer.core.units import GIB
from gpusizer.fit.verdict import Verdict
from gpusizer.hub.listed_models import ListedModel
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.quality.boards import WorkPurpose
from gpusizer.ui.presenters.conclusion import conclusion_html
from gpusizer.ui.presenters.model_scores import (
    ABOUT_BOARDS,
    boards_html,
    memory_texts,
    pace,
    pace_text,
    picks_html,
    quality_cell,
    quality_share,
)
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.grid import Column, amount_cell, marked, named, numbers
from gpusizer.ui.presenters.pieces.html import bullets, el, fold, join, section
from gpusizer.ui.presenters.pieces.losses import configuration
from gpusizer.ui.presenters.pieces.marks import verdict_badge
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.models_for.live_use import UseNow
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.models_for.ordering import Runs

_BILLION = 10**9
_OF_TEXT: tuple[WorkPurpose, ...] = ("chat", "code", "agents", "vision")


def models_for_html(answer: ModelsFor, words: Words) -> Markup:
    """Write the part above the list: what runs, the order, and the notes; for a purpose three
    models to pick from."""
    purpose, gpu = answer.request.work, answer.request.gpu
    hrefs = {
        row.runs.profile.repo_id: _address(row.runs.profile.repo_id, gpu, words, row.context)
        for row, _ in answer.picked
    }
    notes = [note for note in answer.notes if not note.code.startswith(ABOUT_BOARDS)]
    if purpose is None:
        order = el(
            "p", words("reverse.order", source=_source(answer.now, words)), class_="gs-order"
        )
    else:
        order = boards_html(answer, purpose, words)
    return section(
        "reverse",
        conclusion_html(
            answer.conclusion,
            words,
            elsewhere=[why for _, why in answer.picked],
            beside=picks_html(answer, hrefs, words),
        ),
        order,
        words.listed(notes, "gs-notes"),
        _newcomers(answer.newcomers, gpu, words),
        None if answer.rows else el("p", words("reverse.nothing"), class_="gs-empty"),
    )


def _source(use: UseNow, words: Words) -> str:
    """Say of which day the figures of use are, and whether the Hub gave them now."""
    if use.as_of is None:
        return words("reverse.order_unknown")
    return words(f"reverse.order_{'live' if use.live else 'embedded'}", date=use.as_of.isoformat())


def _newcomers(trending: Sequence[ListedModel], gpu: str, words: Words) -> Markup | None:
    """Write what trends on the Hub and is not stored, each a link that sizes it."""
    if not trending:
        return None
    items = [
        join(
            (
                el("a", model.repo_id, href=_address(model.repo_id, gpu, words)),
                " ",
                el("small", " · ".join(_newcomer_facts(model, words))),
            )
        )
        for model in trending
    ]
    return fold(
        words("reverse.trending.title"),
        el("p", words("reverse.trending.lead"), class_="gs-small"),
        el("div", bullets(items), class_="gs-copies"),
        id="gs-trending",
    )


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
        lambda row, words: verdict_badge(row.runs.verdict, words, f"how_{row.runs.how}"),
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
    return amount_cell(amount, *in_ram)


def _day(row: RunsOn) -> int | None:
    created = row.family.use.created
    return None if created is None else created.toordinal()


def _month(row: RunsOn, words: Words) -> str:
    created = row.family.use.created
    return DASH if created is None else f"{created:%Y-%m}"


def _model(row: RunsOn, gpu: str, words: Words) -> Markup:
    """Write the model's ID as a link to its answer on the same GPU, with its configuration."""
    repo_id, copies = row.runs.profile.repo_id, len(row.family.copies)
    link = el("a", repo_id, href=_address(repo_id, gpu, words, row.context))
    config = f"{configuration(row.runs.config.estimate, words)} · {words(f'task.{row.runs.task}')}"
    if not copies:
        return named(link, config)
    more = el(
        "a",
        words("reverse.copies", count=copies),
        href="#gs-copies",
        data_copies=repo_id,
        aria_haspopup="dialog",
    )
    return named(link, join((config, " · ", more)))


def copies_html(answer: ModelsFor, words: Words) -> Markup:
    """Write the part below the list: the other repositories of the families that it shows.

    They stand outside of the grid because Gradio's table takes every click on a cell for itself,
    and gives all rows one height: the page's script shows those of a row in a box at the row.
    """
    rows = [row for row in answer.rows if row.family.copies]
    if not rows:
        return join(())
    families = [_family(row, answer.request.gpu, words) for row in rows]
    title = words("reverse.copies.title", count=sum(len(row.family.copies) for row in rows))
    listed = el("div", join(families), class_="gs-copies")
    return el("section", fold(title, listed, id="gs-copies"), class_="gs-section")


def _family(row: RunsOn, gpu: str, words: Words) -> Markup:
    repo_id = row.runs.profile.repo_id
    copies = bullets(_copy(copy, gpu, row.context, words) for copy in row.family.copies)
    return el("section", el("h3", repo_id), copies, data_family=repo_id)


def _copy(copy: Runs, gpu: str, context: int, words: Words) -> Markup:
    """Write one repository of a family: a link to its own answer, what it is, and how it runs."""
    kind, repo_id = copy.candidate.member.kind, copy.profile.repo_id
    quant, verdict = copy.config.estimate.quant.name, words.verdict(copy.verdict.value)
    link = el("a", repo_id, href=_address(repo_id, gpu, words, context))
    return join((link, el("small", f"{words(f'release.{kind}')} · {quant} · {verdict}")))


def _address(repo_id: str, gpu: str, words: Words, context: int = DEFAULT_CONTEXT) -> str:
    """The address of a model's own answer on the same GPU."""
    used = {} if context == DEFAULT_CONTEXT else {"context": context}
    gpus = {"gpus": gpu} if gpu else {}
    return question_href({"model": repo_id, **used, **gpus}, words.language)
