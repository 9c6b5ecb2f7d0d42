"""The conclusion of an answer in words: its first sentence, the others, and what was weighed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Conclusion, told
from gpusizer.core.messages import Note
from gpusizer.ui.presenters.pieces.words import Words

_DATE = re.compile(r"\b20\d\d(-\d\d){1,2}\b")


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
