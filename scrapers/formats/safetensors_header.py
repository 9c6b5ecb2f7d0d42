"""Parser and checker of safetensors headers. Pure.

Format (https://huggingface.co/docs/safetensors): eight bytes, little-endian, hold the length of a
JSON object `{name: {"dtype", "shape", "data_offsets": [begin, end]}}`; the data follows it. Offsets
count bytes from the beginning of the data.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeGuard

from gpusizer.core.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.core.errors import LimitsExceeded, MalformedRepo, UnsupportedDtype
from gpusizer.core.loose_values import JsonValue
from gpusizer.hub.tensors import Entries, TensorLayout
from scrapers.formats.json_files import Pairs, load_json, unique_keys
from scrapers.limits import Limits

LENGTH_BYTES = 8
MAX_RANK = 16
# The only key of a header that does not name a tensor.
METADATA = "__metadata__"

_OFFSETS_KEY = b'"data_offsets"'
_INT = frozenset({int})
_USUAL_KEYS = ("dtype", "shape", "data_offsets")
_ENTRY_KEYS = {"dtype", "shape", "data_offsets"}
_MAX_SIZE = 2**63

_Sizes = tuple[int, ...]
# Dtype, shape and data offsets of one tensor, unchecked; None for a value that is no list of
# integers. A tuple, because Python's garbage collector does not scan tuples of numbers: a model may
# have 500,000 tensors.
TensorEntry = tuple[str, _Sizes | None, _Sizes | None]


class CheckedTensors(NamedTuple):
    """The tensors of a header, the span of each in the data, and the end of all, in bytes."""

    entries: Entries
    spans: list[_Sizes]
    end: int


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
    """Return the number of tensors of a header that is not parsed yet."""
    # Each entry has the key once. A quote inside a JSON string is escaped, so that no name contains
    # the key; a header that escapes letters of it has its tensors counted once it is parsed.
    return header.count(_OFFSETS_KEY)


def parse_header(header: bytes, file_bytes: int | None, repo_id: str, path: str) -> Entries:
    """Parse the tensors of a file, in header order; `header` starts with the eight length bytes.

    Raises MalformedRepo with `reason` "crowded", "not_utf8", "not_json", "too_deep",
    "not_an_object", "duplicate_key", "tensor_entry", "shape", "data_offsets", "overlap" or
    "beyond_end"; UnsupportedDtype.
    """
    entries = load_json(header[LENGTH_BYTES:], repo_id, path, header_object)
    data_bytes = None if file_bytes is None else file_bytes - len(header)
    return check_entries(entries, data_bytes, repo_id, path).entries


def header_object(pairs: Pairs) -> JsonValue | TensorEntry:
    """Build a JSON object or a tensor's entry, for `load_json`. Raises DuplicateKey."""
    if len(pairs) == len(_USUAL_KEYS):
        (key0, dtype), (key1, shape), (key2, offsets) = pairs
        if (key0, key1, key2) == _USUAL_KEYS and isinstance(dtype, str):
            return dtype, _sizes(shape), _sizes(offsets)
    return _entry(unique_keys(pairs))


def tensor_entries(header: JsonValue) -> JsonValue:
    """Build the entries for `check_entries` from a header that is parsed already."""
    if not isinstance(header, dict):
        return header
    return {name: _entry(value) for name, value in header.items()}


def _entry(value: JsonValue) -> JsonValue | TensorEntry:
    if not isinstance(value, dict) or not value.keys() >= _ENTRY_KEYS:
        return value
    named = value["dtype"]
    if not isinstance(named, str):
        return value
    return named, _sizes(value["shape"]), _sizes(value["data_offsets"])


def check_entries(
    entries: JsonValue, data_bytes: int | None, repo_id: str, path: str
) -> CheckedTensors:
    """Check the entries of `header_object`. Raises as `parse_header` does."""

    def malformed(reason: str) -> MalformedRepo:
        return MalformedRepo(repo_id=repo_id, file=path, reason=reason)

    if not isinstance(entries, dict):
        raise malformed("not_an_object")
    # This key is no tensor.
    entries.pop(METADATA, None)
    layouts: list[TensorLayout] = []
    spans: list[_Sizes] = []
    # Bytes of each layout of dtype and shape; a model has few layouts.
    stored: dict[TensorLayout, int] = {}
    for entry in entries.values():
        if not _is_tensor(entry):
            raise malformed("tensor_entry")
        dtype, shape, span = entry
        if shape is None or (length := stored.get((dtype, shape))) is None:
            if dtype not in DTYPE_BITS:
                raise UnsupportedDtype(repo_id=repo_id, dtype=dtype[:40])
            if shape is None or not _is_shape(shape):
                raise malformed("shape")
            length = stored[dtype, shape] = stored_bytes(dtype, math.prod(shape))
        if span is None or not _is_span(span, length):
            raise malformed("data_offsets")
        layouts.append((dtype, shape))
        spans.append(span)
    end = _end_of_data(spans)
    if end is None:
        raise malformed("overlap")
    if data_bytes is not None and end > data_bytes:
        raise malformed("beyond_end")
    return CheckedTensors((list(entries), layouts), spans, end)


def _sizes(value: JsonValue) -> _Sizes | None:
    # None for other values and for lists with a bool.
    return tuple(value) if type(value) is list and _INT.issuperset(map(type, value)) else None


def _is_tensor(entry: JsonValue) -> TypeGuard[TensorEntry]:
    # `header_object` makes a tuple of a tensor; JSON itself has no tuples.
    return type(entry) is tuple


def _is_shape(shape: _Sizes) -> bool:
    return len(shape) <= MAX_RANK and all(0 <= n < _MAX_SIZE for n in shape)


def _is_span(span: _Sizes, stored_length: int) -> bool:
    return (
        len(span) == 2
        and 0 <= span[0] <= span[1] < _MAX_SIZE
        and (span[1] - span[0] == stored_length)
    )


def _end_of_data(spans: list[_Sizes]) -> int | None:
    # None if two tensors overlap. Gaps are allowed.
    end = 0
    for first, last in sorted(spans):
        if first < end and first != last:
            return None
        if last > end:
            end = last
    return end
