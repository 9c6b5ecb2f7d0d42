"""Tensor entries in the form every writer uses, read without building a JSON tree. Pure.

`{"name":{"dtype":"BF16","shape":[8,16],"data_offsets":[0,256]},…}`, compact and without
escapes, is what the safetensors library writes. The scan takes that form alone, and checks
all that a JSON parser would: whatever differs is None, for the parser to judge.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from operator import sub

from gpusizer.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.tensors import Entries, Layout

MAX_RANK = 16
_MAX_DIGITS = 18  # below 2^63, so that no number needs a further check

_SIZE = rf"(?:0|[1-9][0-9]{{0,{_MAX_DIGITS - 1}}})"
_NOT_IN_NAMES = bytes(range(0x20)) + b"\\"  # the rest is itself in JSON
METADATA = "__metadata__"
"""The one key of a header that is no tensor."""
# Dtype and shape together: there are few, and each is looked at once. Names are up to the next
# quote: to search for one character is quicker, and what is in them is checked in all at once.
_ENTRY = re.compile(
    r'"([^"]*)":\{"dtype":"([^"]*","shape":\[[0-9,]*)\],'
    rf'"data_offsets":\[([0-9]{{1,{_MAX_DIGITS}}},[0-9]{{1,{_MAX_DIGITS}}})\]\}},'
)
_COLUMNS = 3
_LAYOUT = re.compile(rf'([A-Z0-9_]{{1,16}})","shape":\[((?:{_SIZE}(?:,{_SIZE})*)?)')


def scan_entries(text: str, start: int, stop: int) -> tuple[Entries, int] | None:
    """Tensors in `text[start:stop]` and the end of their data in bytes; None unless canonical.

    Canonical means: nothing but entries, distinct names, known dtypes, offsets that agree
    with the shapes and overlap nowhere.
    """
    if start == stop:
        return ([], []), 0
    # With one more comma every entry has one; a second at the end belongs to none.
    pieces = _ENTRY.split(text[start:stop] + ",")
    between, names, written, spans = (pieces[i :: _COLUMNS + 1] for i in range(_COLUMNS + 1))
    # Entries that do not touch leave something between them; a name comes twice as a duplicate.
    distinct = set(names)
    if any(between) or len(distinct) != len(names) or METADATA in distinct or _is_odd(names):
        return None
    layouts = _layouts(set(written))
    if layouts is None:
        return None
    sizes = {text: _bytes_of(layout) for text, layout in layouts.items()}
    end = _end_of_data(spans, list(map(sizes.__getitem__, written)))
    return None if end is None else ((names, list(map(layouts.__getitem__, written))), end)


def _is_odd(names: Sequence[str]) -> bool:
    """Whether a name is written otherwise than it reads, or as no JSON may."""
    text = "".join(names).encode()
    return len(text.translate(None, _NOT_IN_NAMES)) != len(text)


def _layouts(texts: set[str]) -> dict[str, Layout] | None:
    """Layouts by how they are written; None for one that cannot be."""
    layouts: dict[str, Layout] = {}
    for text in texts:
        match = _LAYOUT.fullmatch(text)
        shape = tuple(map(int, match[2].split(","))) if match and match[2] else ()
        if not match or match[1] not in DTYPE_BITS or len(shape) > MAX_RANK:
            return None
        layouts[text] = match[1], shape
    return layouts


def _bytes_of(layout: Layout) -> int:
    dtype, shape = layout
    return stored_bytes(dtype, math.prod(shape))


def _end_of_data(spans: Sequence[str], sizes: Sequence[int]) -> int | None:
    """Where the last tensor ends; None where spans are no sizes, or two overlap."""
    joined = ",".join(spans)
    ends = list(accumulate(sizes))
    if ends[-1] < 10**_MAX_DIGITS:
        stops = list(map(str, ends))
        usual = ["0"] * (2 * len(stops))
        usual[2::2], usual[1::2] = stops[:-1], stops
        if joined == ",".join(usual):
            return ends[-1]  # one after another, as the library writes them
    numbers = list(map(int, joined.split(",")))
    begins, ends = numbers[::2], numbers[1::2]
    if joined != ",".join(map(str, numbers)) or list(map(sub, ends, begins)) != list(sizes):
        return None
    end = 0
    for first, last in sorted(zip(begins, ends, strict=True)):
        if first < end and first != last:
            return None
        end = max(end, last)
    return end
