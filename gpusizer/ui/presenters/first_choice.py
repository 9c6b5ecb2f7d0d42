"""The first place of a ranking in a sentence, why it is that, and what else one could choose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpusizer.answers.report import Report
from gpusizer.core.messages import Note
from gpusizer.fit.losses import quality_at
from gpusizer.fit.ranking import Alternative, Ranked
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.losses import loss_label, loss_sentence
from gpusizer.ui.presenters.words import Words

_DATE = re.compile(r"\b20\d\d(-\d\d){1,2}\b")

Choice = tuple[str, bool, str, str, Sequence[Note]]
"""Kind of an alternative, whether it is the first place, its boards, their configuration, why."""


def headline_text(report: Report, words: Words) -> str:
    """Name the first place of the ranking and how it runs the model."""
    name = report.profile.repo_id.rsplit("/", maxsplit=1)[-1]
    if not report.ranking:
        return words("headline.nothing", model=name)
    fit = report.ranking[0].fit
    key = "headline.native" if fit.estimate.native else "headline.quantized"
    gpus = gpus_in_words(fit.gpu, fit.count, words)
    return words(key, model=name, gpus=gpus, quant=fit.estimate.quant.name)


def gpus_in_words(gpu: Gpu, count: int, words: Words) -> str:
    """Name boards in a sentence: 'one RTX 4090', '2 × RTX 4090'."""
    key = "one_gpu" if count == 1 else "several_gpus"
    return words(key, count=count, gpu=gpu.name)


def boards_text(gpu: Gpu, count: int) -> str:
    """Name boards in a table or tile."""
    return f"{count} × {gpu.name}" if count > 1 else gpu.name


def why_text(notes: Iterable[Note], words: Words) -> str:
    """Write the clauses of a reason in one line, in which dates and prices do not break."""
    text = _DATE.sub(
        lambda date: date[0].replace("-", "\u2011"), " · ".join(map(words.note, notes))
    ).replace("US$ ", "US$\u00a0")
    return text[:1].upper() + text[1:]


def first_html(first: Ranked | None, words: Words) -> Html | None:
    """Write why the first place is that, and what its quantization loses."""
    if first is None:
        return None
    quality = quality_at(first.fit.estimate)
    return join(
        (
            el("p", why_text(first.why, words), class_="gs-why"),
            el("p", loss_sentence(quality, words), class_="gs-small", id="gs-first-loss"),
        )
    )


def serving_choices(alternatives: Iterable[Alternative], words: Words) -> list[Choice]:
    """Return the alternatives of a report as tiles, with what each one's quantization loses."""
    return [
        (
            alternative.kind,
            alternative.is_first,
            boards_text(alternative.item.fit.gpu, alternative.item.fit.count),
            _configuration(alternative.item.fit.estimate, words),
            alternative.why,
        )
        for alternative in alternatives
    ]


def _configuration(estimate: MemoryEstimate, words: Words) -> str:
    return f"{estimate.quant.name} · {loss_label(quality_at(estimate), words)}"


def choices_html(choices: Sequence[Choice], words: Words) -> Html | None:
    """Write a tile for each alternative; None where there are none."""
    if not choices:
        return None
    return el("div", join(_tile(choice, words) for choice in choices), class_="gs-choices")


def choice_line(choice: Choice, words: Words) -> str:
    """Write an alternative in one line of text."""
    kind, _, boards, configuration, why = choice
    gpus = f"{boards} ({configuration})" if configuration else boards
    return f"{words(f'choice.{kind}')}: {gpus}: {why_text(why, words)}"


def _tile(choice: Choice, words: Words) -> Html:
    kind, is_first, boards, configuration, why = choice
    same = el("span", words("choice.same"), class_="gs-chip") if is_first else None
    return el(
        "article",
        el("h3", words(f"choice.{kind}"), same),
        el("p", el("strong", boards), el("small", configuration) if configuration else None),
        el("p", why_text(why, words), class_="gs-small"),
        class_="gs-choice",
    )
