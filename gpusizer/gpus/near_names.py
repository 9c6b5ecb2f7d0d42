"""Catalogue names that resemble one that the catalogue lacks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpusizer.gpus.names import NameKey

_LIKE = 0.5  # Least difflib ratio of two names whose letters before the number are equal.
_ALIKE_LETTERS = 0.8  # least ratio of names if one has no number or the letters differ
_FEWEST_DIGITS = 3
_PARTS = re.compile(r"([^\W\d_]*)(\d*)(.*)")


class _Parts(NamedTuple):
    """A product's name: letters before its number, the number, and the rest."""

    letters: str
    digits: str
    rest: str


def near_cores(key: NameKey, sizes: Mapping[str, Iterable[float]]) -> list[str]:
    """Return the cores of `sizes` (each with its cards' sizes in GB) that resemble `key`.

    Cores with its letters come first, then those with the nearest number, those spelt most alike,
    and those with a size near the stated one. Numbers count as alike only after equal letters
    ("H101" and "H100", not "RTX 2050" and "H200"), or if the number itself is equal.
    """
    rated: list[tuple[bool, int, float, float, str]] = []
    wanted = _parts(key.core)
    for core, cards in sizes.items():
        ratio = _likeness(key.core, wanted, core)
        if ratio is None:
            continue
        apart = abs(int(wanted.digits or 0) - int(_parts(core).digits or 0))
        larger = min((abs(gb - (key.memory_gb or gb)) for gb in cards), default=0.0)
        unlike = wanted.letters != _parts(core).letters
        rated.append((unlike, apart, -ratio, larger, core))
    return [core for *_, core in sorted(rated)]


def _likeness(asked: str, wanted: _Parts, core: str) -> float | None:
    # None if the names are of unlike things.
    parts = _parts(core)
    same_number = wanted.digits == parts.digits and len(parts.digits) >= _FEWEST_DIGITS
    if wanted.digits and parts.digits and wanted.letters != parts.letters and not same_number:
        return None
    numbered = wanted.digits and parts.digits and wanted.letters == parts.letters
    ratio = difflib.SequenceMatcher(None, asked, core).ratio()
    return ratio if ratio >= (_LIKE if numbered or same_number else _ALIKE_LETTERS) else None


def _parts(core: str) -> _Parts:
    match = _PARTS.fullmatch(core)
    assert match is not None  # every text has these parts
    return _Parts(*match.groups())
