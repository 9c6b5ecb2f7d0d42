"""Names of tensors and the numbers in them: where indices are, and which they are. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

PLACEHOLDER = "{}"
# A path component that is a number: a layer or an expert. Longer numbers are no index.
_INDEX = re.compile(r"(?:^|(?<=\.))[0-9]{1,6}(?=\.|\Z)")
_NUMBER = re.compile(r"0+")
_MOST_INDICES = 16  # layer, expert, block and part make four
_MOST_KEPT_CHARS = 256
_FORM = str.maketrans("123456789", "0" * 9)
_DIGITS = ["".join(digit * 10**i for digit in "0123456789") * 10 ** (2 - i) for i in (2, 1, 0)]
"""Hundreds, tens and ones of the numbers from 0 to 999."""

Indices = tuple[int, ...]
Product = tuple[Indices, ...]
"""All index tuples that take a number of each."""
Span = tuple[int, int]
Kind = str | tuple[str, str | tuple[str, ...]]
"""A name with every digit a 0, and the digits of it that are no index where it has some."""


class Form(NamedTuple):
    """What names have in common that differ in digits alone.

    Attributes:
        places: where indices are.
        others: the digits that are no index.
        pattern: of all these names, unless there are others.
    """

    places: tuple[Span, ...]
    others: tuple[slice, ...]
    pattern: str


def forms_of(names: Sequence[str]) -> list[str] | None:
    """Each name with every digit a 0; None where one has a brace or a line end."""
    text = "\n".join(names)
    if "{" in text or text.count("\n") >= len(names):
        return None
    return text.translate(_FORM).split("\n")


def kinds_of(
    forms: Sequence[str], names: Sequence[str], known: Mapping[str, Form]
) -> Sequence[Kind]:
    """The forms, and beside them the digits that are no index: `w1` is not `w2`."""
    digits = {text: itemgetter(*form.others) for text, form in known.items() if form.others}
    if not digits:
        return forms
    return [
        (form, digits[form](name)) if form in digits else form
        for form, name in zip(forms, names, strict=True)
    ]


def indices_of(names: Sequence[str], places: Sequence[Span]) -> list[Product] | None:
    """The numbers at these places of names of one length; None for one like "007"."""
    text, length = "".join(names), len(names[0])
    columns: list[Indices] = []
    for start, stop in places:
        digits = [text[i::length] for i in range(start, stop)]
        if len(digits) > 1 and "0" in digits[0]:
            return None  # it would not survive the round trip through int
        columns.append(
            _few_or_in_a_row(int(names[0][start:stop]), digits)
            or tuple(map(int, map(itemgetter(slice(start, stop)), names)))
        )
    return _runs(columns, len(names))


def _few_or_in_a_row(first: int, digits: Sequence[str]) -> Indices:
    """The number that all have, as a layer's often is, or numbers that count up; else none.

    Experts come in order: to compare their digits is much quicker than to read each.
    """
    count = len(digits[0])
    if all(column == column[0] * count for column in digits):
        return (first,)
    if len(digits) <= len(_DIGITS) and first + count <= 10 ** len(digits):
        counted = _DIGITS[-len(digits) :]
        if digits == [column[first : first + count] for column in counted]:
            return tuple(range(first, first + count))
    return ()


def _runs(columns: list[Indices], count: int) -> list[Product]:
    """A product for each run of tensors that differ in the last number alone.

    A column holds the number of every one of `count` tensors, or the one that all have.
    """
    if all(len(column) == 1 for column in columns[:-1]):
        return [tuple(columns)]
    *firsts, lasts = [column * count if len(column) == 1 else column for column in columns]
    products: list[Product] = []
    start = 0
    for numbers, run in itertools.groupby(zip(*firsts, strict=True)):
        stop = start + len(list(run))
        products.append((*((number,) for number in numbers), lasts[start:stop]))
        start = stop
    return products


def pattern_of(name: str, places: Sequence[Span]) -> str:
    """The name with a placeholder at each of these places."""
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(name)]
    return PLACEHOLDER.join(name[a:b] for a, b in zip(ends, starts, strict=True))


def index_places(name: str) -> tuple[Span, ...]:
    """Where indices are. A name with more of them than any model has is taken as it is."""
    found = tuple(match.span() for match in _INDEX.finditer(name))
    return found if len(found) <= _MOST_INDICES else ()


def form_of(text: str) -> Form:
    """What names of this form have in common."""
    return _known_form(text) if len(text) <= _MOST_KEPT_CHARS else _read_form(text)


def _read_form(text: str) -> Form:
    places = index_places(text)
    numbers = (match.span() for match in _NUMBER.finditer(text))
    others = tuple(slice(*span) for span in numbers if span not in places)
    return Form(places, others, pattern_of(text, places))


_known_form = lru_cache(maxsize=4096)(_read_form)
"""Shards name their tensors alike."""
