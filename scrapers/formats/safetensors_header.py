"""Parses safetensors headers to tensors, and checks all values. Pure.

Format (https://huggingface.co/docs/safetensors): eight bytes, little-endian, hold the
length of a JSON object `{name: {"dtype", "shape", "data_offsets": [begin, end]}}`; the data
follows it. Offsets count bytes from the beginning of the data.
"""

from __future__ import annotations

import math
from typing import Any

from gpusizer.core.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.core.errors import LimitsExceeded, MalformedRepo, UnsupportedDtype
from gpusizer.hub.tensors import Entries, TensorLayout
from scrapers.formats.json_files import Pairs, load_json, unique_keys
from scrapers.limits import Limits

LENGTH_BYTES = 8
MAX_RANK = 16
METADATA = "__metadata__"
"""The only key of a header that does not name a tensor."""

_OFFSETS_KEY = b'"data_offsets"'
_INT = frozenset({int})
_USUAL_KEYS = ("dtype", "shape", "data_offsets")
_ENTRY_KEYS = {"dtype", "shape", "data_offsets"}
_MAX_SIZE = 2**63

TensorEntry = tuple[str, Any, Any]
"""Dtype, shape and data offsets of one tensor, unchecked.

A tuple, because Python's garbage collector does not scan tuples of numbers: a model may have
500,000 tensors.
"""


def header_end(
    start: bytes, file_bytes: int | None, repo_id: str, path: str, limits: Limits
) -> int:
    """Return the offset of the first data byte, from the first bytes of a file.

    Raises MalformedRepo ("truncated", "header_length"), LimitsExceeded ("header_bytes").
    """
    if len(start) < LENGTH_BYTES:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="truncated")
    end = LENGTH_BYTES + int.from_bytes(start[:LENGTH_BYTES], "little")
    if end < LENGTH_BYTES + len("{}") or (file_bytes is not None and end > file_bytes):
        raise MalformedRepo(repo_id=repo_id, file=path, reason="header_length")
    if end - LENGTH_BYTES > limits.header_bytes:
        raise LimitsExceeded(repo_id=repo_id, limit="header_bytes", allowed=limits.header_bytes)
    return end


def count_tensors(header: bytes) -> int:
    """Return the number of tensors of a header that is not parsed yet.

    Each entry has the key once. A quote inside a JSON string is escaped, so that no name contains
    the key; a header that escapes letters of it has its tensors counted once it is parsed.
    """
    return header.count(_OFFSETS_KEY)


def parse_header(header: bytes, file_bytes: int | None, repo_id: str, path: str) -> Entries:
    """Parse the tensors of a file, in header order; `header` starts with the eight length bytes.

    Raises MalformedRepo with `reason` "crowded", "not_utf8", "not_json", "too_deep",
    "not_an_object", "duplicate_key", "tensor_entry", "shape", "data_offsets", "overlap" or
    "beyond_end"; UnsupportedDtype.
    """
    entries = load_json(header[LENGTH_BYTES:], repo_id, path, header_object)
    data_bytes = None if file_bytes is None else file_bytes - len(header)
    return check_entries(entries, data_bytes, repo_id, path)[0]


def header_object(pairs: Pairs) -> dict[str, Any] | TensorEntry:
    """Build a JSON object or a tensor's entry, for `load_json`. Raises DuplicateKey."""
    if len(pairs) == len(_USUAL_KEYS):
        (key0, dtype), (key1, shape), (key2, offsets) = pairs
        if (key0, key1, key2) == _USUAL_KEYS and isinstance(dtype, str):
            return dtype, _sizes(shape), _sizes(offsets)
    value = unique_keys(pairs)
    if not value.keys() >= _ENTRY_KEYS or not isinstance(value["dtype"], str):
        return value
    return value["dtype"], _sizes(value["shape"]), _sizes(value["data_offsets"])


def check_entries(
    entries: Any, data_bytes: int | None, repo_id: str, path: str
) -> tuple[Entries, int]:
    """Check the entries of `header_object`; return the tensors and the end of their data in bytes.

    Raises as `parse_header` does.
    """
    reason = None if isinstance(entries, dict) else "not_an_object"
    layouts: list[TensorLayout] = []
    spans: list[tuple[int, int]] = []
    stored: dict[TensorLayout, int] = {}
    if reason is None:
        entries.pop(METADATA, None)
        for entry in entries.values():
            reason = _problem(entry, stored)
            if reason == "dtype":
                raise UnsupportedDtype(repo_id=repo_id, dtype=entry[0][:40])
            if reason is not None:
                break
            layouts.append(entry[:2])
            spans.append(entry[2])
    end = _end_of_data(spans) if reason is None else None
    if reason is None and end is None:
        reason = "overlap"
    elif end is not None and data_bytes is not None and end > data_bytes:
        reason = "beyond_end"
    if reason is not None or end is None:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=reason)
    return (list(entries), layouts), end


def _sizes(value: Any) -> Any:
    """Return a list of integers as a tuple; None for other values and for lists with a bool."""
    return tuple(value) if type(value) is list and _INT.issuperset(map(type, value)) else None


def _problem(entry: Any, stored: dict[TensorLayout, int]) -> str | None:
    """Return why the entry of one tensor is invalid, None if it is valid.

    `stored` caches the bytes of each layout of dtype and shape, of which a model has few.
    """
    if type(entry) is not tuple:
        return "tensor_entry"
    dtype, shape, span = entry
    stored_length = stored.get((dtype, shape))
    if stored_length is None:
        if dtype not in DTYPE_BITS:
            return "dtype"
        if shape is None or len(shape) > MAX_RANK or not all(0 <= n < _MAX_SIZE for n in shape):
            return "shape"
        stored_length = stored[dtype, shape] = stored_bytes(dtype, math.prod(shape))
    if span is None or len(span) != 2:
        return "data_offsets"
    begin, end = span
    if begin < 0 or end >= _MAX_SIZE or end - begin != stored_length:
        return "data_offsets"
    return None


def _end_of_data(spans: list[tuple[int, int]]) -> int | None:
    """Return the end of the last tensor in bytes, None if two overlap. Gaps are allowed."""
    end = 0
    for first, last in sorted(spans):
        if first < end and first != last:
            return None
        if last > end:
            end = last
    return end
