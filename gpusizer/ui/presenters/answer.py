"""The answer in a sentence and what was weighed, where to get it, a fold to share it, and the views
below it."""

from __future__ import annotations

from typing import Literal

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.conclusion.fit import others
from gpusizer.core.errors import GpusizerError
from gpusizer.ui.presenters.choices import PageAnswer
from gpusizer.ui.presenters.conclusion import conclusion_html, first_sentence
from gpusizer.ui.presenters.pieces.html import Html, choices, el, section
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.share import share_html
from gpusizer.ui.presenters.tiles import ways_to_get_html

View = Literal["ranking", "cards", "memory", "facts"]
VIEWS: tuple[View, ...] = ("ranking", "cards", "memory", "facts")
"""The GPUs that run a model, those side by side, its memory, and what the model is."""


def answer_html(answer: PageAnswer, words: Words, first: View = "ranking") -> Html:
    """Write the verdict on the GPUs that the visitor has picked, else the conclusion about all and
    where to get what it names; `first` is the view below it that is shown first.

    What a plan for a load assumes stands below its table.
    """
    report = answer.report
    plan, every = report.serving_plan, report.conclusion
    own = answer.own if isinstance(answer.own, Conclusion) else None
    wrong = answer.own if isinstance(answer.own, GpusizerError) else None
    ways = None if own else ways_to_get_html(report, words)
    elsewhere = [*(plan.notes if plan else ())]
    if ways is not None:
        elsewhere += others(report.alternatives)  # the fastest leads the order by speed
    return section(
        "answer",
        el("p", report.profile.repo_id, class_="gs-eyebrow"),
        el("p", words.error(wrong), class_="gs-message", role="status") if wrong else None,
        conclusion_html(own or every, words, elsewhere, ways),
        el("p", words("way.all", sentence=first_sentence(every, words))) if own else None,
        words.listed(report.notes, "gs-notes"),
        share_html(words),
        views_html(first, words),
    )


def views_html(first: View, words: Words) -> Html:
    """Write the buttons that show a view each (`ui/page/scripts/views.js`); `first` is shown until
    the visitor chooses another."""
    named: dict[str, str] = {view: words(f"view.{view}") for view in VIEWS}
    return choices("view", named, words("views"), class_="gs-views", data_first=first)
