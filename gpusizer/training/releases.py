"""Releases of training frameworks: versions and dates that decide between rows of one family."""

from __future__ import annotations

import re
from typing import TypeAlias

from gpusizer.core.errors import InvalidRequest

Release: TypeAlias = tuple[int, ...]
"""Numbers of a version, or year, month and day."""

FIELD = "framework_version"
_FIRST_YEAR = 2000  # a version that begins with as much is a date, as Unsloth's are
_LAST_MONTH = 12
_NUMBERS = re.compile(r"\d{1,4}(?:[.-]\d{1,4}){0,3}")


def read_release(text: str) -> Release:
    """The release in "4.46.2", "v0.5", "2025-01" or "2025.8.3"; a year alone is its last month.

    Raises InvalidRequest where the text has no number.
    """
    match = _NUMBERS.search(text)
    if match is None:
        raise InvalidRequest(field=FIELD, value=text[:40], reason="not_a_version")
    release = tuple(int(number) for number in re.split(r"[.-]", match[0]))
    return (*release, _LAST_MONTH) if is_date(release) and len(release) == 1 else release


def is_date(release: Release) -> bool:
    """Whether it is a date rather than a version."""
    return release[0] >= _FIRST_YEAR


def is_before(release: Release, ends: tuple[Release, ...]) -> bool:
    """Whether a release came before the one of `ends` that is a version or a date as it is."""
    return any(release < end for end in ends if is_date(end) == is_date(release))
