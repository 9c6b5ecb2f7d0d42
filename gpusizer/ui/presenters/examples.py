"""Links to examples, with which an empty tab opens, and the example of an answer."""

from __future__ import annotations

from gpusizer.ui.presenters.answer import advice_of
from gpusizer.ui.presenters.choices import PageAnswer
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.html import Html, el, join
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tab_examples import QUESTIONS, Examples


def links_html(examples: Examples, words: Words) -> Html:
    """Write links that answer an example."""
    links = [
        el("a", name, href=question_href(query, words.language), class_="gs-try")
        for name, query in examples.items()
    ]
    return el("div", el("span", words("try"), class_="gs-small"), join(links), class_="gs-chips")


def tab_html(name: str, examples: Examples, words: Words) -> Html:
    """Write what an empty tab shows: what it answers, and examples."""
    return el(
        "section",
        el("div", el("p", words(f"{name}.empty")), links_html(examples, words), class_="gs-empty"),
        class_="gs-section",
    )


def sample_html(answer: PageAnswer, words: Words) -> Html:
    """Write an answer in short: its verdict, figures and command, a button for the rest."""
    model = answer.report.profile.repo_id
    advice = advice_of(answer, words)
    return render("sample.html", words, explained=Glossary(words), model=model, advice=advice)


def welcome_html(sample: Html | None, words: Words) -> Html:
    """Write what the page shows before the first question: an answer to an example, and the
    questions that it answers, each a link to one."""
    cards = [
        (name, example, question_href(query, words.language))
        for name, (example, query) in QUESTIONS.items()
    ]
    return render("welcome.html", words, sample=sample, cards=cards)
