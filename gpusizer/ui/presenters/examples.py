"""Links to examples, with which an empty tab opens, and the example of an answer."""

from __future__ import annotations

from markupsafe import Markup

from gpusizer.ui.presenters.answer import advice_of
from gpusizer.ui.presenters.choices import PageAnswer
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tab_examples import QUESTIONS, Examples


def links_html(examples: Examples, words: Words) -> Markup:
    """Write links that answer an example."""
    hrefs = {name: question_href(query, words.language) for name, query in examples.items()}
    return piece("links", words("try"), hrefs)


def tab_html(name: str, examples: Examples, words: Words) -> Markup:
    """Write what an empty tab shows: what it answers, and examples."""
    links = links_html(examples, words)
    return render("empty_tab.html", words, said=words(f"{name}.empty"), links=links)


def sample_html(answer: PageAnswer, words: Words) -> Markup:
    """Write an answer in short: its verdict, figures and command, a button for the rest."""
    model = answer.report.profile.repo_id
    advice = advice_of(answer, words)
    return render("sample.html", words, explained=Glossary(words), model=model, advice=advice)


def welcome_html(sample: Markup | None, words: Words) -> Markup:
    """Write what the page shows before the first question: an answer to an example, and the
    questions that it answers, each a link to one."""
    cards = [
        (name, example, question_href(query, words.language))
        for name, (example, query) in QUESTIONS.items()
    ]
    return render("welcome.html", words, sample=sample, cards=cards)
