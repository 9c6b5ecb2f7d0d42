"""GGUF headers: from the first bytes of a file to its metadata and tensors. No network here.

Format (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3): magic,
version, number of tensors and of metadata entries; the entries; of each tensor its name,
sides (row length first), type and offset; then the data, aligned. Texts and arrays stand
between the entries, so that a tokenizer has to be passed to reach the tensors. Its lengths
are enough for that: it never becomes Python objects.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.dtypes import GGML_BLOCKS, GGML_TYPES, stored_bytes
from gpusizer.errors import LimitsExceeded, UnsupportedDtype
from gpusizer.tensors import RawTensor
from scrapers.byte_window import ByteWindow, Source
from scrapers.limits import Limits

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT_KEY = "general.alignment"
TOKENIZER = "tokenizer.ggml.model"
PRE_TOKENIZER = "tokenizer.ggml.pre"
TOKENS = "tokenizer.ggml.tokens"

_START = struct.Struct("<4sIQQ")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MAX_KEY_BYTES = 65_535  # the format's own limit
_MAX_NAME_BYTES = 256  # the format says 64
_MAX_TEXT_BYTES = 256
_MAX_ARRAY = 1024  # one number for each layer
_MAX_SIDES = 4
_DEFAULT_ALIGNMENT = 32
# Header bytes for each token, by how texts are split: two merges a token (Llama 3: 61), one
# (Qwen: 39), and by the tokenizer: SentencePiece's with a score instead (23).
_BYTES_PER_TOKEN = {"llama-bpe": 62, "llama": 24}
_BYTES_PER_TOKEN_OTHERWISE = 40


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What one GGUF file says about itself.

    Attributes:
        metadata: scalars, short texts and short arrays of numbers; of the list of tokens its
            length, as `tokenizer.ggml.tokens.length`.
        tensors: name, ggml type and shape ([out, in] for a matrix) of each tensor.
        data_start: bytes before the first tensor, padding included.
        file_bytes: size of the whole file, None where the answers did not say it.
        bytes_read: bytes of the file that were read for this.
    """

    metadata: Mapping[str, Any]
    tensors: tuple[RawTensor, ...]
    data_start: int
    file_bytes: int | None
    bytes_read: int


def read_header(
    source: Source, limits: Limits, repo_id: str, path: str, expected_bytes: int = 0
) -> GgufHeader:
    """The header of a file whose bytes `source` provides, so many probably.

    Raises MalformedRepo with `reason` "magic", "big_endian", "version", "truncated",
    "not_utf8", "duplicate_key", "metadata_type", "key_length", "alignment", "name_length",
    "duplicate_tensor", "shape", "block", "data_offsets", "overlap" or "beyond_end";
    UnsupportedDtype; LimitsExceeded ("gguf_header_bytes", "gguf_keys", "gguf_values",
    "gguf_tensors").
    """
    window = ByteWindow(source, limits, repo_id, path)
    window.expect(min(expected_bytes, limits.gguf_header_bytes // 2))
    return _Parser(window, limits, repo_id).header()


class _Parser:
    """Walks a header once, from its first byte to its last."""

    def __init__(self, window: ByteWindow, limits: Limits, repo_id: str) -> None:
        self._window = window
        self._limits = limits
        self._repo_id = repo_id
        self._metadata: dict[str, Any] = {}
        self._values = 0

    def header(self) -> GgufHeader:
        window = self._window
        magic, version, tensors, keys = _START.unpack(window.take(_START.size))
        if magic != MAGIC:
            raise window.malformed("magic")
        if version not in VERSIONS:
            # A big-endian file has its version in the upper half.
            raise window.malformed("version" if version & 0xFFFF else "big_endian")
        self._check("gguf_keys", keys)
        self._check("gguf_tensors", tensors)
        seen: set[str] = set()
        for _ in range(keys):
            key = self._text(_MAX_KEY_BYTES, "key_length")
            if key in seen:
                raise window.malformed("duplicate_key")
            seen.add(key)
            self._entry(key, self._number(_U32))
        alignment = self._alignment()
        infos = [self._tensor(alignment) for _ in range(tensors)]
        data_start = -(-window.position // alignment) * alignment
        self._check_places(infos, data_start)
        found = tuple(tensor for tensor, _ in infos)
        return GgufHeader(self._metadata, found, data_start, window.file_bytes, window.bytes_read)

    def _entry(self, key: str, kind: int) -> None:
        """One metadata entry: kept when short, else passed."""
        if kind in _SCALARS:
            (value,) = self._scalars(kind, 1)
            self._keep(key, [value], value)
        elif kind == _STRING:
            self._short_text(key)
        elif kind == _ARRAY:
            self._array(key, self._number(_U32), self._number(_U64))
        else:
            raise self._window.malformed("metadata_type")

    def _array(self, key: str, kind: int, count: int) -> None:
        if key == TOKENS:
            self._metadata[f"{TOKENS}.length"] = count
            kinds = map(self._metadata.get, (PRE_TOKENIZER, TOKENIZER))
            known = [_BYTES_PER_TOKEN[kind] for kind in kinds if kind in _BYTES_PER_TOKEN]
            per_token = known[0] if known else _BYTES_PER_TOKEN_OTHERWISE
            self._window.expect(min(count * per_token, self._limits.gguf_header_bytes // 2))
        if kind == _STRING:
            self._window.skip_strings(count)
        elif kind not in _SCALARS:  # llama.cpp reads no arrays of arrays either
            raise self._window.malformed("metadata_type")
        elif count > _MAX_ARRAY or key.startswith("tokenizer."):
            self._window.skip(count * struct.calcsize(f"<{_SCALARS[kind]}"))
        else:
            values = self._scalars(kind, count)
            self._keep(key, values, values)

    def _short_text(self, key: str) -> None:
        length = self._number(_U64)
        wanted = key in (TOKENIZER, PRE_TOKENIZER) or not key.startswith("tokenizer.")
        if length > _MAX_TEXT_BYTES or not wanted:
            self._window.skip(length)
            return
        try:
            value = self._window.take(length).decode()
        except UnicodeDecodeError:
            return  # a name or a licence: nothing that is counted depends on it
        self._keep(key, [value], value)

    def _keep(self, key: str, values: list[Any], value: Any) -> None:
        self._values += len(values)
        self._check("gguf_values", self._values)
        if all(not isinstance(one, float) or math.isfinite(one) for one in values):
            self._metadata[key] = value

    def _tensor(self, alignment: int) -> tuple[RawTensor, int]:
        """One tensor and its offset in the data."""
        window = self._window
        name = self._text(_MAX_NAME_BYTES, "name_length")
        rank = self._number(_U32)
        if not 1 <= rank <= _MAX_SIDES:
            raise window.malformed("shape")
        sides = struct.unpack(f"<{rank}Q", window.take(8 * rank))
        if min(sides) == 0 or math.prod(sides) >= 2**63:
            raise window.malformed("shape")
        number = self._number(_U32)
        dtype = GGML_TYPES.get(number)
        if dtype is None:
            raise UnsupportedDtype(repo_id=self._repo_id, dtype=f"ggml type {number}")
        if sides[0] % GGML_BLOCKS[dtype][0]:
            raise window.malformed("block")
        offset = self._number(_U64)
        if offset % alignment:
            raise window.malformed("data_offsets")
        return (name, dtype, sides[::-1]), offset

    def _alignment(self) -> int:
        value = self._metadata.get(ALIGNMENT_KEY, _DEFAULT_ALIGNMENT)
        if type(value) is not int or not 0 < value <= 2**16 or value & (value - 1):
            raise self._window.malformed("alignment")
        return value

    def _check_places(self, infos: list[tuple[RawTensor, int]], data_start: int) -> None:
        """Refuse tensors of one name, in the same bytes, or beyond the end of the file."""
        if len({name for (name, _, _), _ in infos}) != len(infos):
            raise self._window.malformed("duplicate_tensor")
        end = 0
        for (_, dtype, shape), offset in sorted(infos, key=lambda info: info[1]):
            if offset < end:
                raise self._window.malformed("overlap")
            end = offset + stored_bytes(dtype, math.prod(shape))
        size = self._window.file_bytes
        if size is not None and infos and data_start + end > size:
            raise self._window.malformed("beyond_end")

    def _text(self, max_bytes: int, reason: str) -> str:
        length = self._number(_U64)
        if not 0 < length <= max_bytes:
            raise self._window.malformed(reason)
        try:
            return self._window.take(length).decode()
        except UnicodeDecodeError:
            raise self._window.malformed("not_utf8") from None

    def _number(self, kind: struct.Struct) -> int:
        (value,) = kind.unpack(self._window.take(kind.size))
        return int(value)

    def _scalars(self, kind: int, count: int) -> list[Any]:
        layout = struct.Struct(f"<{count}{_SCALARS[kind]}")
        return list(layout.unpack(self._window.take(layout.size)))

    def _check(self, limit: str, value: int) -> None:
        allowed = getattr(self._limits, limit)
        if value > allowed:
            raise LimitsExceeded(repo_id=self._repo_id, limit=limit, allowed=allowed)
