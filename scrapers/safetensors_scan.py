"""Tensor entries in the form every writer uses, read without building a JSON tree. Pure.

`{"name":{"dtype":"BF16","shape":[8,16],"data_offsets":[0,256]},…}`, compact and without
escapes, is what the safetensors library writes. The scan takes that form alone, and checks
all that a JSON parser would: whatever differs is None, for the parser to judge.
"""

from __future__ import annotations

import math
import re
from operator import sub

from gpusizer.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.tensors import RawTensor

MAX_RANK = 16
_MAX_DIGITS = 18  # below 2^63, so that no number needs a further check

_NAME = r'"([^"\\\x00-\x1f]*)"'
_SIZE = rf"(?:0|[1-9][0-9]{{0,{_MAX_DIGITS - 1}}})"
# The comma belongs to its entry only when another follows, as JSON has it.
_ENTRY = re.compile(
    rf'{_NAME}:\{{"dtype":"([A-Z0-9_]{{1,16}})","shape":\[((?:{_SIZE}(?:,{_SIZE})*)?)\],'
    rf'"data_offsets":\[({_SIZE}),({_SIZE})\]\}}(?:(,)(?=")|$)'
)
_ENTRY_FIXED_CHARS = len('"":{"dtype":"","shape":[],"data_offsets":[,]}')

Layout = tuple[str, tuple[int, ...], int]
"""Dtype, shape and bytes of a tensor."""


def scan_entries(text: str, start: int, stop: int) -> tuple[list[RawTensor], int] | None:
    """Tensors in `text[start:stop]` and the end of their data in bytes; None unless canonical.

    Canonical means: nothing but entries, distinct names, known dtypes, offsets that agree
    with the shapes and overlap nowhere.
    """
    found = _ENTRY.findall(text, start, stop)
    if not found:
        return ([], 0) if start == stop else None
    names, dtypes, shapes, firsts, lasts, commas = zip(*found, strict=True)
    columns = (names, dtypes, shapes, firsts, lasts, commas)
    matched = len(found) * _ENTRY_FIXED_CHARS + sum(sum(map(len, column)) for column in columns)
    # Entries that do not touch leave characters over; a name that comes twice is a duplicate.
    if matched != stop - start or len(set(names)) != len(names):
        return None
    layouts = _layouts(set(zip(dtypes, shapes, strict=True)))
    if layouts is None:
        return None
    begins, ends = list(map(int, firsts)), list(map(int, lasts))
    chosen = [layouts[key] for key in zip(dtypes, shapes, strict=True)]
    if list(map(sub, ends, begins)) != [one[2] for one in chosen]:
        return None
    end = _end_of_data(begins, ends)
    if end is None:
        return None
    return [(name, one[0], one[1]) for name, one in zip(names, chosen, strict=True)], end


def _layouts(keys: set[tuple[str, str]]) -> dict[tuple[str, str], Layout] | None:
    """Layouts by dtype and shape as they stand in the text; None for one that cannot be."""
    layouts: dict[tuple[str, str], Layout] = {}
    for dtype, text in keys:
        shape = tuple(map(int, text.split(","))) if text else ()
        if dtype not in DTYPE_BITS or len(shape) > MAX_RANK:
            return None
        layouts[dtype, text] = (dtype, shape, stored_bytes(dtype, math.prod(shape)))
    return layouts


def _end_of_data(begins: list[int], ends: list[int]) -> int | None:
    """Where the last tensor ends; None when two overlap."""
    if begins == [0, *ends[:-1]]:
        return ends[-1]  # one after another, as the library writes them
    end = 0
    for first, last in sorted(zip(begins, ends, strict=True)):
        if first < end and first != last:
            return None
        end = max(end, last)
    return end
