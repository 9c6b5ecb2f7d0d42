"""The conclusion of an answer: its first sentence as the heading, the others and what was weighed
below it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import Conclusion, told
from gpusizer.core.messages import Note
from gpusizer.ui.presenters.pieces.html import bullets, el, join
from gpusizer.ui.presenters.pieces.words import Words

_DATE = re.compile(r"\b20\d\d(-\d\d){1,2}\b")


def conclusion_html(
    conclusion: Conclusion,
    words: Words,
    *,
    elsewhere: Collection[Note] = (),
    beside: Markup | None = None,
) -> Markup:
    """Write the conclusion, `beside` it what illustrates it, and what was weighed without the
    sentences that are written `elsewhere`."""
    rest = told(conclusion.said[1:], words.note)
    weighed = (note for note in conclusion.weighed if note not in elsewhere)
    return join(
        (
            el("h2", first_sentence(conclusion, words), class_="gs-answer"),
            el("p", unbroken(rest), class_="gs-why") if rest else None,
            beside,
            bullets((unbroken(words.note(note)) for note in weighed), "gs-weighed"),
        )
    )


@dataclass(frozen=True, slots=True)
class Concluded:
    """A conclusion in words: its first sentence, the others, and what was weighed."""

    first: str
    rest: str
    weighed: tuple[str, ...]


def concluded_of(
    conclusion: Conclusion, words: Words, elsewhere: Collection[Note] = ()
) -> Concluded:
    """Return the conclusion, without what was weighed and is written `elsewhere`."""
    rest = unbroken(told(conclusion.said[1:], words.note))
    weighed = (note for note in conclusion.weighed if note not in elsewhere)
    said = tuple(unbroken(words.note(note)) for note in weighed)
    return Concluded(first_sentence(conclusion, words), rest, said)


def first_sentence(conclusion: Conclusion, words: Words) -> str:
    """Write the sentence that an answer begins with."""
    return words.note(conclusion.said[0])


def unbroken(text: str) -> str:
    """Return the text with dates and prices that do not break at the end of a line."""
    whole = _DATE.sub(lambda date: date[0].replace("-", "\u2011"), text)
    return whole.replace("US$ ", "US$\u00a0")
