"""Reads the header of a GGUF file on this machine with gguf's memory-mapped reader, within bounds.

`gguf.GGUFReader` makes two numpy arrays for every token of a vocabulary (58 s and 690 MB for
Llama 3's) and does not check counts. `HeaderReader` checks counts and offsets, skips texts by
their lengths, and makes no arrays of the tensors' data. gguf 0.19 reads a file in its constructor
and has no hooks, so that three of its private methods are replaced;
`tests/scrapers/test_local_hostile.py` shows whether they are still called.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, GGUFValueType, ReaderField

from gpusizer.core.dtypes import GGML_BLOCKS, GGML_TYPES, stored_bytes
from gpusizer.core.errors import LimitsExceeded, MalformedRepo, UnsupportedDtype
from gpusizer.hub.tensors import RawTensor
from scrapers.gguf_header import (
    MAGIC,
    PRE_TOKENIZER,
    TOKENIZER,
    TOKENS,
    VERSIONS,
    GgufHeader,
)
from scrapers.limits import Limits

_START = struct.Struct("<4sIQQ")
_LENGTH = struct.Struct("<Q")
_MAX_TEXT_BYTES = 256
_MAX_ARRAY = 1024
_MAX_SIDES = 4
# Exceptions of the library's reader for a file that contradicts the format.
_UNREADABLE = (ValueError, KeyError, IndexError, TypeError, OverflowError)


def read_header_on_disk(
    file: Path, size_bytes: int, limits: Limits, repo_id: str, path: str
) -> GgufHeader:
    """Read the header of `file`; `size_bytes` includes the raw pieces that follow it.

    `repo_id` and `path` name the file in errors. Raises MalformedRepo ("truncated", "magic",
    "version", "big_endian", "duplicate_key", "not_utf8", "metadata_type", "shape", "block",
    "data_offsets", "overlap", "duplicate_tensor", "beyond_end"), UnsupportedDtype and
    LimitsExceeded ("gguf_header_bytes", "gguf_keys", "gguf_values", "gguf_tensors").
    """
    with file.open("rb") as opened:
        start = opened.read(_START.size)
    problem = _problem_of_start(start)
    if problem is not None:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=problem)
    _, _, tensors, keys = _START.unpack(start)
    for limit, count in (("gguf_tensors", tensors), ("gguf_keys", keys)):
        _check(limits, limit, count, repo_id)
    try:
        reader = HeaderReader(file, limits, repo_id, path)
        metadata = _metadata(reader, limits, repo_id)
        _check_offsets(reader, size_bytes)
    except _UNREADABLE as error:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=_reason(error)) from None
    return GgufHeader(
        metadata=metadata,
        tensors=tuple(tensor for tensor, _ in reader.placed),
        data_start=reader.data_offset,
        file_bytes=size_bytes,
        bytes_read=reader.data_offset,
    )


class HeaderReader(GGUFReader):
    """A GGUFReader that checks untrusted headers.

    Attributes:
        placed: tensors, each with its offset in the data in bytes.
    """

    def __init__(self, file: Path, limits: Limits, repo_id: str, path: str) -> None:
        self.placed: list[tuple[RawTensor, int]] = []
        self._limits = limits
        self._repo_id = repo_id
        self._path = path
        super().__init__(file)

    def malformed(self, reason: str) -> MalformedRepo:
        """Return the error of a file that contradicts its format."""
        return MalformedRepo(repo_id=self._repo_id, file=self._path, reason=reason)

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
        """Read numbers at an offset. The library's own method returns fewer where the file ends."""
        self._check_end(int(offset) + np.dtype(dtype).itemsize * int(count))
        return super()._get(offset, dtype, count, override_order)

    def _get_field_parts(
        self, orig_offs: int, raw_type: int
    ) -> tuple[int, list[Any], list[int], list[GGUFValueType]]:
        """Parse a metadata value. An array of numbers becomes one part; of texts only the count."""
        if GGUFValueType(raw_type) != GGUFValueType.ARRAY:
            value: tuple[int, list[Any], list[int], list[GGUFValueType]]
            value = super()._get_field_parts(orig_offs, raw_type)
            return value
        kind, length = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
        types = [GGUFValueType.ARRAY, GGUFValueType(kind[0])]
        start = orig_offs + kind.nbytes + length.nbytes
        if types[1] == GGUFValueType.STRING:
            end = self._after_texts(start, int(length[0]))
            return end - orig_offs, [kind, length], [], types
        number_type = self.gguf_scalar_to_np[types[1]]  # KeyError for arrays of arrays
        numbers = self._get(start, number_type, int(length[0]))
        return start + numbers.nbytes - orig_offs, [kind, length, numbers], [2], types

    def _after_texts(self, offset: int, count: int) -> int:
        """Return the offset after `count` texts, each of which is preceded by its length."""
        self._check_end(offset + count * _LENGTH.size)
        for _ in range(count):
            self._check_end(offset + _LENGTH.size)
            offset += _LENGTH.size + _LENGTH.unpack_from(self.data.data, offset)[0]
        self._check_end(offset)
        return offset

    def _build_tensors(self, start_offs: int, fields: Sequence[ReaderField]) -> None:
        """Collect name, type and shape of tensors; the library's own method maps their data too."""
        for field in fields:
            _, _, rank, sides, kind, offset = field.parts
            shape = tuple(int(side) for side in reversed(sides))
            if not 1 <= rank[0] <= _MAX_SIDES or min(shape) == 0 or math.prod(shape) >= 2**63:
                raise self.malformed("shape")
            dtype = GGML_TYPES.get(int(kind[0]))
            if dtype is None:
                raise UnsupportedDtype(repo_id=self._repo_id, dtype=f"ggml type {kind[0]}")
            if shape[-1] % GGML_BLOCKS[dtype][0]:
                raise self.malformed("block")
            if int(offset[0]) % int(self.alignment):
                raise self.malformed("data_offsets")
            self.placed.append(((field.name, dtype, shape), int(offset[0])))

    def _check_end(self, end: int) -> None:
        """Refuse an offset beyond the end of the file, or beyond the limit of a header."""
        if end > len(self.data):
            raise self.malformed("truncated")
        _check(self._limits, "gguf_header_bytes", end, self._repo_id)


def _metadata(reader: HeaderReader, limits: Limits, repo_id: str) -> dict[str, Any]:
    """Collect scalars, short texts and short arrays, and the length of the vocabulary."""
    metadata: dict[str, Any] = {}
    values = 0
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):  # the library's names for the counts at the start of the file
            continue
        if key == TOKENS and field.types[0] == GGUFValueType.ARRAY:
            metadata[f"{TOKENS}.length"] = int(field.parts[4][0])
        if not _is_short(key, field):
            continue
        try:
            value = field.contents()
        except UnicodeDecodeError:
            continue  # a name or a licence, on which no number depends
        listed = value if isinstance(value, list) else [value]
        values += len(listed)
        _check(limits, "gguf_values", values, repo_id)
        if all(not isinstance(item, float) or math.isfinite(item) for item in listed):
            metadata[key] = value
    return metadata


def _is_short(key: str, field: ReaderField) -> bool:
    """Whether a text is stored: a short one, and of the tokenizer's only its name."""
    kind = field.types[0]
    if kind == GGUFValueType.STRING:
        is_stored = key in (TOKENIZER, PRE_TOKENIZER) or not key.startswith("tokenizer.")
        return is_stored and len(field.parts[-1]) <= _MAX_TEXT_BYTES
    if kind != GGUFValueType.ARRAY:
        return True
    numbers = field.types[1] != GGUFValueType.STRING
    return numbers and not key.startswith("tokenizer.") and len(field.parts[-1]) <= _MAX_ARRAY


def _check_offsets(reader: HeaderReader, size_bytes: int) -> None:
    """Refuse tensors that have one name, overlap, or end beyond the end of the file."""
    if len({name for (name, _, _), _ in reader.placed}) != len(reader.placed):
        raise reader.malformed("duplicate_tensor")
    end = 0
    for (_, dtype, shape), offset in sorted(reader.placed, key=lambda item: item[1]):
        if offset < end:
            raise reader.malformed("overlap")
        end = offset + stored_bytes(dtype, math.prod(shape))
    if reader.placed and reader.data_offset + end > size_bytes:
        raise reader.malformed("beyond_end")


def _problem_of_start(start: bytes) -> str | None:
    """Return the reason why the first bytes of a file are invalid, None if they are valid."""
    if len(start) < _START.size:
        return "truncated"
    magic, version, _, _ = _START.unpack(start)
    if magic != MAGIC:
        return "magic"
    if version not in VERSIONS:
        # The version of a big-endian file, read as little-endian, is in the upper half.
        return "version" if version & 0xFFFF else "big_endian"
    return None


def _reason(error: Exception) -> str:
    """Map an exception of the library to a reason of MalformedRepo."""
    if isinstance(error, UnicodeDecodeError):
        return "not_utf8"
    if isinstance(error, KeyError) and str(error).startswith("'Duplicate "):
        return "duplicate_key"
    return "alignment" if "alignment" in str(error) else "metadata_type"


def _check(limits: Limits, limit: str, value: int, repo_id: str) -> None:
    allowed = getattr(limits, limit)
    if value > allowed:
        raise LimitsExceeded(repo_id=repo_id, limit=limit, allowed=allowed)
