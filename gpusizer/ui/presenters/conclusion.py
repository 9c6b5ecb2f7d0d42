"""The conclusion of an answer: its first sentence as the heading, the others and what was weighed
below it."""

from __future__ import annotations

import re

from gpusizer.advice.conclusion.clauses import Conclusion, told
from gpusizer.ui.presenters.pieces.html import Html, bullets, el, join
from gpusizer.ui.presenters.pieces.words import Words

_DATE = re.compile(r"\b20\d\d(-\d\d){1,2}\b")


def conclusion_html(conclusion: Conclusion, words: Words) -> Html:
    """Write the conclusion, and what was weighed."""
    rest = told(conclusion.said[1:], words.note)
    return join(
        (
            el("h2", first_sentence(conclusion, words), class_="gs-answer"),
            el("p", unbroken(rest), class_="gs-why") if rest else None,
            bullets((unbroken(words.note(note)) for note in conclusion.weighed), "gs-weighed"),
        )
    )


def first_sentence(conclusion: Conclusion, words: Words) -> str:
    """Write the sentence that an answer begins with."""
    return words.note(conclusion.said[0])


def unbroken(text: str) -> str:
    """Return the text with dates and prices that do not break at the end of a line."""
    whole = _DATE.sub(lambda date: date[0].replace("-", "\u2011"), text)
    return whole.replace("US$ ", "US$\u00a0")
