"""Patterns that no sentence for people may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_UNITS = "GiB|GB|MiB|MB|tok/s|hours|tokens"

FORBIDDEN: Mapping[str, str] = {
    "a value of Python": r"\b(None|True|False)\b",
    "no number": r"\b(nan|inf|NaN)\b|∞",
    "a unit twice": rf"\b({_UNITS}) (?:{_UNITS})\b",
    "a chain of fragments": r"(?:[^·\n]+ · ){4}",
    "minutes that are no minute": r"\b0[.,]0\d* (?:minutes?|minutos?|分钟)",
    "a field that was not filled in": r"\{\w*(?::[^}]*)?\}",
    "a code": r"\b(?:note|page|error|reason|training|inference)\.[a-z_]{3,}",
    "an exponent": r"\b\d(?:\.\d+)?[eE][+-]?\d\d\b",
    "a price with two signs": r"\$\s*(?:US)?\$|\$ ?\d[\d.,]* 美元",
    "two marks": r",,|;;|(?<!\.)\.\.(?!\.)|。\.|。。",
    "numbers in place of a sentence": r": \d[\d.,]*[;；]",
    "less than nothing": r"(?<![\w.,-])-0(?:[.,]0+)?(?![\d.,])",
}
"""Name -> regular expression, in every language; those of one language are below."""

UNTRANSLATED = r"\b(?:the|with|which|and|is|are|about|not|runs|takes|each)\b"
"""Words of English that no name of a model, a card or an engine holds, in other languages."""
TWO_WORDS_FOR_ONE = r"(?<![\w-])[Tt]okens?(?![\w-])"
"""What Chinese sentences call 词元."""


def found(text: str, language: str = "en") -> Iterator[tuple[str, str]]:
    """Yield the names of patterns that a text holds, with where."""
    patterns = dict(FORBIDDEN)
    if language != "en":
        patterns["English"] = UNTRANSLATED
    if language == "zh":
        patterns["two words for one"] = TWO_WORDS_FOR_ONE
    for name, pattern in patterns.items():
        for match in re.finditer(pattern, text):
            yield name, text[max(0, match.start() - 40) : match.end() + 40]
