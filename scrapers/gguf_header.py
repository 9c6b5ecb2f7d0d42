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

from gpusizer.core.dtypes import GGML_BLOCKS, GGML_TYPES, stored_bytes
from gpusizer.core.errors import HubUnreachable, LimitsExceeded, MalformedRepo, UnsupportedDtype
from gpusizer.hub.tensors import RawTensor
from scrapers.byte_window import ByteWindow, Source
from scrapers.gguf_tokenizer import TokenizerSection
from scrapers.limits import Limits

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT_KEY = "general.alignment"
TOKENIZER = "tokenizer.ggml.model"
PRE_TOKENIZER = "tokenizer.ggml.pre"
TOKENS = "tokenizer.ggml.tokens"

_START = struct.Struct("<4sIQQ")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING, _ARRAY = 8, 9
_MAX_KEY_BYTES = 65_535  # the format's own limit
_MAX_NAME_BYTES = 256  # the format says 64
_MAX_TEXT_BYTES = 256
_MAX_ARRAY = 1024  # one number for each layer
_MAX_SIDES = 4
_DEFAULT_ALIGNMENT = 32
_HEAD_SLACK_BYTES = 16
_SLACK_BYTES = 4096
"""By how much more than in another file its headers' parts may be as long."""
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
        tokenizer: its lists of tokens, where they were passed.
    """

    metadata: Mapping[str, Any]
    tensors: tuple[RawTensor, ...]
    data_start: int
    file_bytes: int | None
    bytes_read: int
    tokenizer: TokenizerSection | None = None


def read_header(
    source: Source,
    limits: Limits,
    repo_id: str,
    path: str,
    known: TokenizerSection | None = None,
) -> GgufHeader:
    """The header of a file whose bytes `source` provides.

    `known` is the tokenizer of another file, which may spare reading this file's.

    Raises MalformedRepo with `reason` "magic", "big_endian", "version", "truncated",
    "not_utf8", "duplicate_key", "metadata_type", "key_length", "alignment", "name_length",
    "duplicate_tensor", "shape", "block", "data_offsets", "overlap" or "beyond_end";
    UnsupportedDtype; LimitsExceeded ("gguf_header_bytes", "gguf_keys", "gguf_values",
    "gguf_tensors").
    """
    if known is not None:
        window = ByteWindow(source, limits, repo_id, path)
        window.expect_only(known.start + _SLACK_BYTES)
        try:
            return _Parser(window, limits, repo_id, known).header()
        except _NOT_AS_KNOWN:
            pass  # another tokenizer, or a file that is wrong: reading it all tells which
    window = ByteWindow(source, limits, repo_id, path)
    return _Parser(window, limits, repo_id).header()


_NOT_AS_KNOWN = (MalformedRepo, LimitsExceeded, UnsupportedDtype, HubUnreachable)


class _Parser:
    """Walks a header once, from its first byte to its last."""

    def __init__(
        self,
        window: ByteWindow,
        limits: Limits,
        repo_id: str,
        known: TokenizerSection | None = None,
    ) -> None:
        self._window = window
        self._limits = limits
        self._repo_id = repo_id
        self._metadata: dict[str, Any] = {}
        self._values = 0
        self._known = known
        self._seen: set[str] = set()
        self._tokens_at = 0  # no list of tokens
        self._lists_end = 0
        self._heads: list[tuple[int, bytes]] = []
        self._lists_go_on = False

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
        while len(self._seen) < keys:
            self._entry(*self._key())
        if len(self._seen) > keys:
            raise window.malformed("truncated")
        alignment = self._alignment()
        infos = [self._tensor(alignment) for _ in range(tensors)]
        data_start = -(-window.position // alignment) * alignment
        self._check_places(infos, data_start)
        found = tuple(tensor for tensor, _ in infos)
        section = self._section()
        return GgufHeader(
            self._metadata, found, data_start, window.file_bytes, window.bytes_read, section
        )

    def _key(self) -> tuple[str, int]:
        """The key of the next metadata entry and the type of its value."""
        key = self._text(_MAX_KEY_BYTES, "key_length")
        if key in self._seen:
            raise self._window.malformed("duplicate_key")
        self._seen.add(key)
        return key, self._number(_U32)

    def _section(self) -> TokenizerSection | None:
        """The lists of the tokenizer, as another file may have them."""
        if not self._tokens_at:
            return None
        start, end = self._tokens_at, self._lists_end
        tokens = self._metadata[f"{TOKENS}.length"]
        rest = self._window.position - end
        return TokenizerSection(tokens, start, end - start, tuple(self._heads), rest)

    def _pass_known_lists(self, known: TokenizerSection, kind: int, count: int) -> None:
        """Move from the first token to the end of the last list, if the lists are as known.

        Raises MalformedRepo where they are not.
        """
        window, start = self._window, self._window.position
        if (kind, count) != (_STRING, known.tokens):
            raise window.malformed("metadata_type")
        for offset, head in known.heads:
            window.skip(start + offset - window.position)
            window.expect_only(window.position + len(head) + _HEAD_SLACK_BYTES)
            if window.take(len(head)) != head:
                raise window.malformed("metadata_type")
            length = _U64.size + _U64.unpack_from(head)[0]
            key = head[_U64.size : length].decode(errors="replace")
            if key in self._seen:
                raise window.malformed("duplicate_key")
            self._seen.add(key)
        window.skip(start + known.length - window.position)
        window.expect_only(window.position + known.rest + _SLACK_BYTES)
        self._tokens_at, self._lists_end = start, window.position
        self._heads, self._lists_go_on = list(known.heads), False

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
        self._lists_go_on &= kind == _ARRAY

    def _array(self, key: str, kind: int, count: int) -> None:
        if self._lists_go_on and key.startswith("tokenizer."):
            head = _U64.pack(len(key.encode())) + key.encode()
            head += _U32.pack(_ARRAY) + _U32.pack(kind) + _U64.pack(count)
            self._heads.append((self._window.position - len(head) - self._tokens_at, head))
        else:
            self._lists_go_on = False
        if key == TOKENS:
            self._tokens_at, self._lists_go_on = self._window.position, True
            self._metadata[f"{TOKENS}.length"] = count
            if self._known is not None:
                self._pass_known_lists(self._known, kind, count)
                return
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
        if self._lists_go_on:
            self._lists_end = self._window.position

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
        if all(not isinstance(item, float) or math.isfinite(item) for item in values):
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
        if self._known is not None:
            padded = -(-end // self._alignment()) * self._alignment()
            if not infos or size not in (data_start + end, data_start + padded):
                raise self._window.malformed("data_offsets")

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
