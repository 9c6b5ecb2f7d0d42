"""GGUF files with valid headers over sparse data, and files with malformed headers."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from tests.hub_emulator.files import FakeFile, sparse_file

ALIGNMENT = 32
_NUMBERS = {
    "u8": (0, "B"),
    "i8": (1, "b"),
    "u16": (2, "H"),
    "i16": (3, "h"),
    "u32": (4, "I"),
    "i32": (5, "i"),
    "f32": (6, "f"),
    "bool": (7, "?"),
    "u64": (10, "Q"),
    "i64": (11, "q"),
    "f64": (12, "d"),
}
_STRING, _ARRAY = 8, 9

Tensors = Mapping[str, tuple[str, tuple[int, ...]]]  #


@dataclass(frozen=True)
class Raw:
    """A metadata value as its type number and bytes."""

    kind: int
    data: bytes


def text(value: str | bytes) -> bytes:
    """Return a string as GGUF stores it."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def number(value: float, kind: str) -> Raw:
    """Return a number of a named type ("u64")."""
    code, letter = _NUMBERS[kind]
    return Raw(code, struct.pack(f"<{letter}", value))


def numbers(values: Sequence[float], kind: str) -> Raw:
    """Return an array of numbers of a named type."""
    code, letter = _NUMBERS[kind]
    head = struct.pack("<IQ", code, len(values))
    return Raw(_ARRAY, head + struct.pack(f"<{len(values)}{letter}", *values))


def texts(values: Iterable[str | bytes]) -> Raw:
    """Return an array of strings."""
    parts = [text(value) for value in values]
    return Raw(_ARRAY, struct.pack("<IQ", _STRING, len(parts)) + b"".join(parts))


def entry(key: str | bytes, value: Any) -> bytes:
    """One metadata entry; plain values get the type that llama.cpp's converters use."""
    raw = value if isinstance(value, Raw) else _plain(value)
    return text(key) + struct.pack("<I", raw.kind) + raw.data


def tensor_info(name: str | bytes, sides: Sequence[int], kind: int, offset: int) -> bytes:
    """One tensor's description; `sides` start with the row length."""
    layout = f"<I{len(sides)}QIQ"
    return text(name) + struct.pack(layout, len(sides), *sides, kind, offset)


def gguf_header(
    entries: Sequence[bytes],
    infos: Sequence[bytes] = (),
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    entry_count: int | None = None,
    tensor_count: int | None = None,
) -> bytes:
    """Return a header without padding; the counts may be wrong."""
    start = struct.pack(
        "<4sIQQ",
        magic,
        version,
        len(infos) if tensor_count is None else tensor_count,
        len(entries) if entry_count is None else entry_count,
    )
    return start + b"".join(entries) + b"".join(infos)


def gguf_file(metadata: Mapping[str, Any], tensors: Tensors) -> FakeFile:
    """Return a whole file: this metadata, these tensors, and zeros for their data."""
    infos, offset = [], 0
    for name, (dtype, shape) in tensors.items():
        kind = GGMLQuantizationType[dtype]
        infos.append(tensor_info(name, shape[::-1], kind.value, offset))
        block, size = GGML_QUANT_SIZES[kind]
        offset += _padded(prod(shape) // block * size)
    head = gguf_header([entry(key, value) for key, value in metadata.items()], infos)
    head += bytes(_padded(len(head)) - len(head))
    return sparse_file(len(head) + offset, head)


def tokenizer(
    tokens: int, merges: int = 0, *, model: str = "gpt2", pre: str = "llama-bpe"
) -> dict[str, Any]:
    """Metadata of a vocabulary, with strings as long as real ones."""
    metadata: dict[str, Any] = {
        "tokenizer.ggml.model": model,
        **({"tokenizer.ggml.pre": pre} if merges else {}),
        "tokenizer.ggml.tokens": texts(f"tok{number:04}" for number in range(tokens)),
        "tokenizer.ggml.token_type": numbers([1] * tokens, "i32"),
    }
    if merges:
        metadata["tokenizer.ggml.merges"] = texts(f"tok {number:06}" for number in range(merges))
    return metadata


def _plain(value: Any) -> Raw:
    if isinstance(value, bool):
        return number(value, "bool")
    if isinstance(value, int):
        return number(value, "u32")
    if isinstance(value, float):
        return number(value, "f32")
    if isinstance(value, list):
        return numbers(value, "bool" if isinstance(value[0], bool) else "i32")
    return Raw(_STRING, text(value))


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
