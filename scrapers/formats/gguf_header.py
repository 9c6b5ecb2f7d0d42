"""Parser of a GGUF file's header to its metadata and tensors. Pure.

Format (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3): magic,
version, number of tensors and of metadata entries; the metadata entries; of each tensor its name,
shape (row length first), type and offset; then the data, aligned. The tokenizer's lists are
metadata entries before the tensors. They are skipped by their lengths, so that no token becomes a
Python object.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from gpusizer.core.dtypes import GGML_BLOCKS, GGML_TYPES, stored_bytes
from gpusizer.core.errors import LimitsExceeded, UnsupportedDtype
from gpusizer.core.loose_values import JsonObject, JsonValue
from gpusizer.hub.tensors import RawTensor
from scrapers.formats.byte_window import ByteWindow, Source
from scrapers.limits import Limits

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT_KEY = "general.alignment"
TOKENIZER = "tokenizer.ggml.model"
PRE_TOKENIZER = "tokenizer.ggml.pre"
TOKENS = "tokenizer.ggml.tokens"

_START = struct.Struct("<4sIQQ")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SCALARS = {**dict(enumerate("BbHhIif?")), 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MAX_KEY_BYTES = 65_535  # the format's own limit
_MAX_NAME_BYTES = 256  # the format says 64
_MAX_TEXT_BYTES = 256
_MAX_ARRAY = 1024  # one number for each layer
_MAX_SIDES = 4
_DEFAULT_ALIGNMENT = 32
# Header bytes for each token. Measured by pre-tokenizer: 61 for Llama 3, with two merges for each
# token, and 39 for Qwen, with one merge; 23 for SentencePiece, which stores a score and no merges.
_BYTES_PER_TOKEN = {"llama-bpe": 62, "llama": 24}
_DEFAULT_BYTES_PER_TOKEN = 40


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The header of one GGUF file."""

    # scalars, short texts and short arrays of numbers, and the length of the list of tokens as
    # `tokenizer.ggml.tokens.length`
    metadata: JsonObject
    # name, ggml type and shape ([out, in] for a matrix) of each tensor
    tensors: tuple[RawTensor, ...]
    data_start: int  # bytes before the first tensor, padding included
    file_bytes: int | None  # size of the whole file, None if the responses did not give it
    bytes_read: int  # bytes of the file that were read to parse the header


def read_header(source: Source, limits: Limits, repo_id: str, path: str) -> GgufHeader:
    """Read the header of a file whose bytes `source` provides.

    Raises MalformedRepo with `reason` "magic", "big_endian", "version", "truncated",
    "not_utf8", "duplicate_key", "metadata_type", "key_length", "alignment", "name_length",
    "duplicate_tensor", "shape", "block", "data_offsets", "overlap" or "beyond_end";
    UnsupportedDtype; LimitsExceeded ("gguf_header_bytes", "gguf_keys", "gguf_values",
    "gguf_tensors").
    """
    window = ByteWindow(source, limits, repo_id, path)
    return _Parser(window, limits, repo_id).header()


class _Parser:
    def __init__(self, window: ByteWindow, limits: Limits, repo_id: str) -> None:
        self._window = window
        self._limits = limits
        self._repo_id = repo_id
        self._metadata: dict[str, JsonValue] = {}
        self._values = 0
        self._keys_read: set[str] = set()

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
        while len(self._keys_read) < keys:
            self._entry(*self._key())
        alignment = self._alignment()
        placed_tensors = [self._tensor(alignment) for _ in range(tensors)]
        data_start = -(-window.position // alignment) * alignment
        self._check_offsets(placed_tensors, data_start)
        parsed_tensors = tuple(tensor for tensor, _ in placed_tensors)
        return GgufHeader(
            self._metadata, parsed_tensors, data_start, window.file_bytes, window.bytes_read
        )

    def _key(self) -> tuple[str, int]:
        # The key, and the type of its value.
        key = self._text(_MAX_KEY_BYTES, "key_length")
        if key in self._keys_read:
            raise self._window.malformed("duplicate_key")
        self._keys_read.add(key)
        return key, self._number(_U32)

    def _entry(self, key: str, kind: int) -> None:
        # Stores a short value, skips a long one.
        if kind in _SCALARS:
            (value,) = self._scalars(kind, 1)
            self._store(key, [value], value)
        elif kind == _STRING:
            self._short_text(key)
        elif kind == _ARRAY:
            self._array(key, self._number(_U32), self._number(_U64))
        else:
            raise self._window.malformed("metadata_type")

    def _array(self, key: str, kind: int, count: int) -> None:
        if key == TOKENS:
            self._metadata[f"{TOKENS}.length"] = count
            kinds = [str(self._metadata.get(name)) for name in (PRE_TOKENIZER, TOKENIZER)]
            measured = [_BYTES_PER_TOKEN[kind] for kind in kinds if kind in _BYTES_PER_TOKEN]
            per_token = measured[0] if measured else _DEFAULT_BYTES_PER_TOKEN
            self._window.expect(min(count * per_token, self._limits.gguf_header_bytes // 2))
        if kind == _STRING:
            self._window.skip_strings(count)
        elif kind not in _SCALARS:  # llama.cpp reads no arrays of arrays either
            raise self._window.malformed("metadata_type")
        elif count > _MAX_ARRAY or key.startswith("tokenizer."):
            self._window.skip(count * struct.calcsize(f"<{_SCALARS[kind]}"))
        else:
            values = self._scalars(kind, count)
            self._store(key, values, values)

    def _short_text(self, key: str) -> None:
        length = self._number(_U64)
        is_stored = key in (TOKENIZER, PRE_TOKENIZER) or not key.startswith("tokenizer.")
        if length > _MAX_TEXT_BYTES or not is_stored:
            self._window.skip(length)
            return
        try:
            value = self._window.take(length).decode()
        except UnicodeDecodeError:
            return  # a name or a licence, on which no number depends
        self._store(key, [value], value)

    def _store(self, key: str, values: list[JsonValue], value: JsonValue) -> None:
        self._values += len(values)
        self._check("gguf_values", self._values)
        if all(not isinstance(item, float) or math.isfinite(item) for item in values):
            self._metadata[key] = value

    def _tensor(self, alignment: int) -> tuple[RawTensor, int]:
        # Name, type and shape, and the offset in the data in bytes.
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

    def _check_offsets(self, placed_tensors: list[tuple[RawTensor, int]], data_start: int) -> None:
        # Refuses tensors that have one name, overlap, or end beyond the end of the file.
        if len({name for (name, _, _), _ in placed_tensors}) != len(placed_tensors):
            raise self._window.malformed("duplicate_tensor")
        end = 0
        for (_, dtype, shape), offset in sorted(placed_tensors, key=lambda item: item[1]):
            if offset < end:
                raise self._window.malformed("overlap")
            end = offset + stored_bytes(dtype, math.prod(shape))
        size = self._window.file_bytes
        if size is not None and placed_tensors and data_start + end > size:
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

    def _scalars(self, kind: int, count: int) -> list[JsonValue]:
        layout = struct.Struct(f"<{count}{_SCALARS[kind]}")
        return list(layout.unpack(self._window.take(layout.size)))

    def _check(self, limit: str, value: int) -> None:
        allowed = getattr(self._limits, limit)
        if value > allowed:
            raise LimitsExceeded(repo_id=self._repo_id, limit=limit, allowed=allowed)
