"""The answer as advice: verdict, figures and command, other choices, and what was weighed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import Conclusion, planned, short_name, told
from gpusizer.advice.conclusion.fit import best_of, remedies
from gpusizer.advice.ranking import Ranked
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.fit.verdict import Verdict
from gpusizer.launch.deployment import workload_to_start
from gpusizer.memory.workload import Workload
from gpusizer.serving.serving_rows import ServingPlan
from gpusizer.ui.presenters.choices import PageAnswer
from gpusizer.ui.presenters.conclusion import first_sentence, unbroken
from gpusizer.ui.presenters.explanation import plain, quantization_text, weighed_texts
from gpusizer.ui.presenters.figures import (
    Bar,
    Figure,
    bars_of,
    figures_of_own,
    figures_of_plan,
    figures_to_get,
    held,
)
from gpusizer.ui.presenters.options import Option, best_to_buy, other_choices
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.serving_plan import in_order
from gpusizer.ui.presenters.share import share_html
from gpusizer.ui.presenters.starting import Starting, loading_text, starting
from gpusizer.ui.presenters.verdict import (
    Headline,
    best_of_several,
    judged,
    served,
    suggested,
    with_name,
)
from gpusizer.usecases.conclude import Found
from gpusizer.usecases.report import Report

View = Literal["ranking", "cards", "memory", "facts"]
VIEWS: tuple[View, ...] = ("ranking", "cards", "memory", "facts")
"""The GPUs that run a model, those side by side, its memory, and what the model is."""

_CONTEXT_LIMITS = frozenset({"context_shortened", "context_beyond_model", "context_by_yarn"})
_DETAILS = ("answer_taken_", "answer_users_speed_and_", "answer_users_pace_and_")
"""Beginnings of codes of sentences that stand in the details."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Parts of the first screen of an answer; a part that the answer lacks is empty.

    Attributes:
        more: sentences after the verdict.
        split: how GPU and system memory share the model.
        explanation: what the quantization is.
        remedies: changes that would help, below their heading.
        weighed: the details, folded.
    """

    headline: Headline
    more: str = ""
    figures: tuple[Figure, ...] = ()
    bars: tuple[Bar, ...] = ()
    split: str = ""
    start: Starting | None = None
    explanation: str = ""
    options: tuple[Option, ...] = ()
    remedies: tuple[str, tuple[str, ...]] = ("", ())
    weighed: Sequence[str] = ()


def answer_html(answer: PageAnswer, words: Words, first: View = "ranking") -> Markup:
    """Write the verdict on the visitor's machine or picks, else what to get for the model, with its
    figures and the command; `first` is the view below it that is shown first."""
    wrong = answer.own if isinstance(answer.own, GpusizerError) else None
    return render(
        "answer.html",
        words,
        explained=Glossary(words),
        model=answer.report.profile.repo_id,
        use=answer.use,
        wrong=words.error(wrong) if wrong else "",
        advice=advice_of(answer, words),
        notes=[words.note(note) for note in answer.report.notes],
        share=share_html(words),
        views=VIEWS,
        first=first,
    )


def advice_of(answer: PageAnswer, words: Words) -> Advice:
    """Return the advice on the visitor's machine where it is known, else on what to get."""
    report = answer.report
    if isinstance(answer.own, Conclusion) and answer.found is not None:
        own = _on_own(report, answer.own, answer.found, words)
        return replace(own, options=best_to_buy(report, words))
    if report.serving_plan is not None:
        return _on_plan(report, report.conclusion, report.serving_plan, words)
    if report.ranking and report.ranking[0].fit.verdict.all_on_gpu:
        return _on_ranking(report, answer.usual, words)
    return _in_sentences(report.conclusion, words)


def _on_ranking(report: Report, usual: Sequence[Ranked], words: Words) -> Advice:
    """Advise on the first place of all GPUs."""
    place, profile = report.ranking[0], report.profile
    conclusion = report.conclusion
    return Advice(
        suggested(profile, place, words),
        more=_doubts(report, words),
        figures=figures_to_get(place, words),
        start=_start(report, place, report.workload, words),
        explanation=quantization_text(profile, place.fit.estimate, words),
        options=other_choices(report, usual, words),
        weighed=_weighed(report, conclusion, words),
    )


def _on_own(report: Report, conclusion: Conclusion, found: Found, words: Words) -> Advice:
    """Advise on the visitor's machine, or on the GPUs that were picked."""
    if found.serving_plan is not None:
        return _on_plan(
            replace(report, serving_plan=found.serving_plan), conclusion, found.serving_plan, words
        )
    places = found.ranking.places if found.rig is None else (found.rig,)
    if not places:
        return _in_sentences(conclusion, words)
    place = best_of(places)
    if len(places) > 1 and place.fit.verdict.all_on_gpu:
        sentence = with_name(first_sentence(conclusion, words), short_name(report.profile))
        which = best_of_several(place, words)
        return replace(
            _on_place(report, conclusion, place, words),
            headline=Headline(sentence),
            more=which,
            bars=(),
        )
    if len(places) > 1 or place.fit.verdict is Verdict.NOT_SUPPORTED:
        return _in_sentences(conclusion, words)
    return _on_place(report, conclusion, place, words)


def _on_place(report: Report, conclusion: Conclusion, place: Ranked, words: Words) -> Advice:
    """Advise on one machine that is the visitor's."""
    parts, verdict = held(place.fit.config), place.fit.verdict
    split = ""
    if parts.ram_bytes and place.fit.machine.gpus and verdict.in_memory:
        gpu, ram = words.amount(parts.gpus_bytes), words.amount(parts.ram_bytes)
        is_cache = parts.ram_bytes == place.fit.estimate.kv_offload_bytes
        split = words("bar.cache" if is_cache else "bar.split", gpu=gpu, ram=ram)
    explained = quantization_text(report.profile, place.fit.estimate, words)
    return Advice(
        judged(report.profile, place, words),
        more=_doubts(report, words),
        figures=figures_of_own(place, words),
        bars=bars_of(place, words),
        split=split,
        start=_start(report, place, report.workload, words),
        explanation=explained if verdict.runs else "",
        remedies=_remedies(place, words),
        weighed=_weighed(report, conclusion, words),
    )


def _weighed(report: Report, conclusion: Conclusion, words: Words) -> list[str]:
    """Write the details: for whom and what context it is counted, what was weighed, what an engine
    takes at once, and when the first token of each user comes."""
    counted = tuple(planned(report.profile, report.workload))
    rest = (note for note in conclusion.weighed if note not in counted)
    taken = (note for note in conclusion.said if note.code.startswith(_DETAILS))
    return weighed_texts((*counted, *rest, *taken), words)


def _on_plan(report: Report, conclusion: Conclusion, plan: ServingPlan, words: Words) -> Advice:
    """Advise on the servers for a rate of requests."""
    if not plan.rows:
        return _in_sentences(conclusion, words)
    row, _ = in_order(report)[0]
    within = [note for note in conclusion.weighed if note.code == "answer_plan_within"]
    return Advice(
        served(report.profile, plan.target, row, words),
        more=_doubts(report, words),
        figures=figures_of_plan(plan.target, row, words),
        start=starting(report.profile, row.config, workload_to_start(plan, row, report.workload)),
        explanation=quantization_text(report.profile, row.estimate, words),
        weighed=weighed_texts(within, words),
    )


def _in_sentences(conclusion: Conclusion, words: Words) -> Advice:
    """Say the conclusion where it is about several machines, or about none that runs the model."""
    headline = Headline(unbroken(first_sentence(conclusion, words)))
    more = unbroken(told(conclusion.said[1:], words.note))
    return Advice(headline, more=more, weighed=weighed_texts(conclusion.weighed, words))


def _start(report: Report, place: Ranked, workload: Workload, words: Words) -> Starting | None:
    return starting(report.profile, place.fit.config, workload, loading_text(place, words))


def _doubts(report: Report, words: Words) -> str:
    """Write what of the model is not known, and that it was asked for more than it is made for."""
    limits = (note for note in report.notes if note.code in _CONTEXT_LIMITS)
    return told((*report.profile.doubts, *limits), words.note)


def _remedies(place: Ranked, words: Words) -> tuple[str, tuple[str, ...]]:
    """Write the changes that would help, with their heading; none where all is well."""
    changes: list[Note] = list(remedies(place))
    if not changes or place.fit.verdict is Verdict.FITS:
        return "", ()
    heading, *others = changes
    title = words("remedy.safer") if place.fit.verdict is Verdict.TIGHT else words.note(heading)
    return title, tuple(plain(note, words) for note in others)
