"""Safetensors headers: bytes to tensors, with every claim checked. Pure.

Format (https://huggingface.co/docs/safetensors): eight bytes, little-endian, hold the
length of a JSON object `{name: {"dtype", "shape", "data_offsets": [begin, end]}}`; data
follows it, and offsets count from there.
"""

from __future__ import annotations

import json
import math
from typing import Any

from gpusizer.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.errors import LimitsExceeded, MalformedRepo, UnsupportedDtype
from gpusizer.tensors import Entries, Layout
from scrapers.json_files import load_json, refuse_crowded, unique_keys
from scrapers.limits import Limits
from scrapers.safetensors_scan import MAX_RANK, METADATA, scan_entries

LENGTH_BYTES = 8
_METADATA_START = f'{{"{METADATA}":'
# Of what the scan passes over as JSON: a tree costs many times its text. Trainers write 100 KB.
_MAX_METADATA_CHARS = 2**18

_METADATA_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)
_INT = frozenset({int})
_ENTRY = {"dtype", "shape", "data_offsets"}


def header_end(
    start: bytes, file_bytes: int | None, repo_id: str, path: str, limits: Limits
) -> int:
    """Offset of the first data byte, from the first bytes of a file.

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


def parse_header(header: bytes, file_bytes: int | None, repo_id: str, path: str) -> Entries:
    """Tensors of a file, in header order; `header` starts with the eight length bytes.

    Raises MalformedRepo with `reason` "not_utf8", "not_json", "too_deep", "not_an_object",
    "duplicate_key", "tensor_entry", "shape", "data_offsets", "overlap" or "beyond_end";
    UnsupportedDtype.
    """
    data_bytes = None if file_bytes is None else file_bytes - len(header)
    canonical = _scan(header[LENGTH_BYTES:], data_bytes)
    if canonical is not None:
        return canonical
    refuse_crowded(header, repo_id, path)
    entries = load_json(header[LENGTH_BYTES:], repo_id, path, unique_keys)
    return entries_to_tensors(entries, data_bytes, repo_id, path)


def entries_to_tensors(entries: Any, data_bytes: int | None, repo_id: str, path: str) -> Entries:
    """Tensors of a header that is already JSON. Raises as `parse_header` does."""
    reason = None if isinstance(entries, dict) else "not_an_object"
    names: list[str] = []
    layouts: list[Layout] = []
    spans: list[tuple[int, int]] = []
    if reason is None:
        entries.pop(METADATA, None)
        for name, entry in entries.items():
            reason = _problem(entry)
            if reason == "dtype":
                raise UnsupportedDtype(repo_id=repo_id, dtype=entry["dtype"][:40])
            if reason is not None:
                break
            names.append(name)
            layouts.append((entry["dtype"], tuple(entry["shape"])))
            spans.append(tuple(entry["data_offsets"]))
    reason = reason or _misplaced(spans, data_bytes)
    if reason is not None:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=reason)
    return names, layouts


def _scan(data: bytes, data_bytes: int | None) -> Entries | None:
    """Tensors of a header in the usual form; None for the JSON parser to judge."""
    try:
        text = data.decode().rstrip(" ")
        start = skip_metadata(text, 0) if text.endswith("}") else None
    except (ValueError, RecursionError):
        return None
    scanned = None if start is None else scan_entries(text, start, len(text) - 1)
    if scanned is None or (data_bytes is not None and scanned[1] > data_bytes):
        return None
    return scanned[0]


def skip_metadata(text: str, start: int) -> int | None:
    """Where the entries of the header at `start` begin; None when that is not plain to see.

    Raises ValueError for metadata that is no JSON object, or names a key twice.
    """
    if not text.startswith(_METADATA_START, start):
        return start + 1 if text.startswith("{", start) else None
    start += len(_METADATA_START)
    metadata, length = _METADATA_DECODER.raw_decode(text[start : start + _MAX_METADATA_CHARS])
    end = start + length
    if not isinstance(metadata, dict):
        return None
    if text.startswith(',"', end):
        return end + 1
    return end if text.startswith("}", end) else None


def _problem(entry: Any) -> str | None:
    """What is wrong with the description of one tensor, None when nothing is."""
    if not isinstance(entry, dict) or not entry.keys() >= _ENTRY:
        return "tensor_entry"
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str):
        return "tensor_entry"
    if dtype not in DTYPE_BITS:
        return "dtype"
    if not _is_sizes(shape) or len(shape) > MAX_RANK:
        return "shape"
    if not _is_sizes(offsets) or len(offsets) != 2:
        return "data_offsets"
    if offsets[1] - offsets[0] != stored_bytes(dtype, math.prod(shape)):
        return "data_offsets"
    return None


def _is_sizes(value: Any) -> bool:
    """Whether this is a list of non-negative 63-bit integers; a bool is none."""
    if type(value) is not list or not _INT.issuperset(map(type, value)):
        return False
    return not value or (min(value) >= 0 and max(value) < 2**63)


def _misplaced(spans: list[tuple[int, int]], data_bytes: int | None) -> str | None:
    """What is wrong with where the tensors lie. Gaps are harmless: nothing is counted twice."""
    end = 0
    for first, last in sorted(spans):
        if first < end and first != last:
            return "overlap"
        end = max(end, last)
    return "beyond_end" if data_bytes is not None and end > data_bytes else None
