"""Safetensors files: written by the library when small, sparse with the same header when not."""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping
from typing import Any

import safetensors

from tests.hub_emulator.files import FakeFile

Tensors = Mapping[str, tuple[str, tuple[int, ...]]]  #

LENGTH_BYTES = 8
REAL_FILE_BYTES = 2**20
# MAX_HEADER_SIZE of the safetensors library.
MAX_HEADER_BYTES = 100_000_000
# Exceptions of reading arbitrary JSON as a header, an index or a configuration.
MALFORMED = (AttributeError, KeyError, RecursionError, TypeError, ValueError)

# dtype -> (bits, the name `safetensors.serialize` takes; empty where it takes none).
# In the order of the library's Dtype enumeration: files hold the tensors of the last first.
_DTYPES: dict[str, tuple[int, str]] = {
    "BOOL": (8, "bool"),
    "F4": (4, "float4_e2m1fn_x2"),
    "F6_E2M3": (6, ""),
    "F6_E3M2": (6, ""),
    "U8": (8, "uint8"),
    "I8": (8, "int8"),
    "F8_E5M2": (8, "float8_e5m2"),
    "F8_E4M3": (8, "float8_e4m3fn"),
    "F8_E8M0": (8, "float8_e8m0fnu"),
    "F8_E4M3FNUZ": (8, "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz"),
    "I16": (16, "int16"),
    "U16": (16, "uint16"),
    "F16": (16, "float16"),
    "BF16": (16, "bfloat16"),
    "I32": (32, "int32"),
    "U32": (32, "uint32"),
    "F32": (32, "float32"),
    "C64": (64, "complex64"),
    "F64": (64, "float64"),
    "I64": (64, "int64"),
    "U64": (64, "uint64"),
}
_RANKS = {dtype: rank for rank, dtype in enumerate(_DTYPES)}


def tensor_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of one tensor in a file."""
    return _DTYPES[dtype][0] * math.prod(shape) // 8


def total_bytes(tensors: Tensors) -> int:
    """Bytes of all tensors together."""
    return sum(tensor_bytes(dtype, shape) for dtype, shape in tensors.values())


def weights_file(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> FakeFile:
    """Return a safetensors file, real up to 1 MiB of data and sparse above."""
    small = total_bytes(tensors) <= REAL_FILE_BYTES
    return (safetensors_file if small else sparse_safetensors_file)(tensors, metadata)


def safetensors_file(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> FakeFile:
    """Return a file of zeros written by the safetensors library itself."""
    longest = max((tensor_bytes(*tensor) for tensor in tensors.values()), default=0)
    zeros = ctypes.create_string_buffer(max(longest, 1))  # alive until serialize has copied it
    specs = {
        name: safetensors.TensorSpec(
            dtype=_DTYPES[dtype][1],
            shape=_library_shape(dtype, shape),
            data_ptr=ctypes.addressof(zeros),
            data_len=tensor_bytes(dtype, shape),
        )
        for name, (dtype, shape) in tensors.items()
    }
    data = bytes(safetensors.serialize(specs, dict(metadata) if metadata else None))
    return FakeFile(data, len(data), lfs=True)


def _library_shape(dtype: str, shape: tuple[int, ...]) -> list[int]:
    """Return the shape as `serialize` takes it: F4 counts pairs along the last axis."""
    return [*shape[:-1], shape[-1] // 2] if dtype == "F4" else list(shape)


def sparse_safetensors_file(
    tensors: Tensors, metadata: Mapping[str, str] | None = None
) -> FakeFile:
    """Make the file that the library would write, with its header but no data in memory."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, (dtype, shape) in sorted(
        tensors.items(), key=lambda item: (-_RANKS[item[1][0]], item[0])
    ):
        end = offset + tensor_bytes(dtype, shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    return raw_safetensors_file(header_json(header), data_size=offset)


def raw_safetensors_file(
    header_bytes: bytes, header_length: int | None = None, data_size: int = 0
) -> FakeFile:
    """Return a file with any header; its first eight bytes state `header_length`."""
    claimed = len(header_bytes) if header_length is None else header_length
    head = claimed.to_bytes(LENGTH_BYTES, "little") + header_bytes
    return FakeFile(head, len(head) + data_size, lfs=True)


def header_json(header: Mapping[str, Any], length: int | None = None) -> bytes:
    """Return a header as compact JSON, padded with spaces to `length` or to a multiple of eight."""
    data = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return data.ljust(-(-len(data) // 8) * 8 if length is None else length)


def read_header(file: FakeFile) -> dict[str, Any]:
    """Return the header of a well-formed file; one of `MALFORMED` for another."""
    length = int.from_bytes(file.read(0, LENGTH_BYTES), "little")
    if length > min(file.size - LENGTH_BYTES, MAX_HEADER_BYTES):
        raise ValueError(f"header of {length} bytes in a file of {file.size}")
    header = json.loads(file.read(LENGTH_BYTES, LENGTH_BYTES + length))
    if not isinstance(header, dict):
        raise ValueError("header is no JSON object")
    return header
