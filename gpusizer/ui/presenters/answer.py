"""The answer in a sentence and what was weighed, a fold to share it, and the views below it."""

from __future__ import annotations

from gpusizer.ui.answering import PageAnswer
from gpusizer.ui.presenters.conclusion import conclusion_html
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.share import share_html
from gpusizer.ui.presenters.views import View, views_html
from gpusizer.ui.presenters.words import Words


def answer_html(answer: PageAnswer, words: Words, first: View = "ranking") -> Html:
    """Write the conclusion; `first` is the view below it that is shown first.

    What a plan for a load assumes stands below its table.
    """
    report = answer.report
    plan = report.serving_plan
    return el(
        "section",
        el("p", report.profile.repo_id, class_="gs-eyebrow"),
        conclusion_html(report.conclusion, words, plan.notes if plan else ()),
        words.listed(report.notes, "gs-notes"),
        share_html(words),
        views_html(first, words),
        class_="gs-section",
        id="gs-answer",
    )
