"""Element types of the safetensors format, in bits.

Source: the `Dtype` enumeration of the safetensors library (safetensors/src/tensor.rs).
Unknown names are an error for the caller to raise: guessing a width would make
every later number wrong without a trace.
"""

from __future__ import annotations

DTYPE_BITS: dict[str, int] = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}
"""Bits one element occupies, by safetensors dtype name."""


def stored_bytes(dtype: str, elements: int) -> int:
    """Bytes `elements` values of `dtype` occupy in a safetensors file (bits rounded up).

    Raises KeyError for a dtype outside the format.
    """
    return (DTYPE_BITS[dtype] * elements + 7) // 8
