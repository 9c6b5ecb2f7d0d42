"""Element types of the safetensors and GGUF formats, and the bytes their values take.

`dtypes.toml` has them with their sources. Unknown names are an error for the caller to raise:
guessing a width would make every later number wrong without a trace.
"""

from __future__ import annotations

import math

from gpusizer.core.tables import toml_of

_TABLES = toml_of(__file__)

DTYPE_BITS: dict[str, int] = _TABLES["safetensors"]
"""Bits one element occupies, by safetensors dtype name."""

GGML_TYPES: dict[int, str] = {number: name for name, (number, _, _) in _TABLES["ggml"].items()}
"""Name of a ggml type by its number in GGUF files."""

GGML_BLOCKS: dict[str, tuple[int, int]] = {
    name: (weights, size) for name, (_, weights, size) in _TABLES["ggml"].items()
}
"""ggml type -> (weights per block, bytes per block)."""


def stored_bytes(dtype: str, elements: int) -> int:
    """Bytes `elements` values of `dtype` occupy in a file (bits and blocks rounded up).

    In GGUF every row fills whole blocks, so that a tensor's elements can be counted together.
    Raises KeyError for a dtype of neither format.
    """
    if dtype in DTYPE_BITS:
        return (DTYPE_BITS[dtype] * elements + 7) // 8
    block, block_bytes = GGML_BLOCKS[dtype]
    return -(-elements // block) * block_bytes


def bits_per_element(dtype: str) -> float:
    """Bits one value takes, scales of its block included. Raises KeyError as `stored_bytes`."""
    if dtype in DTYPE_BITS:
        return DTYPE_BITS[dtype]
    block, block_bytes = GGML_BLOCKS[dtype]
    return block_bytes * 8 / block


def nominal_bits(dtype: str) -> int:
    """Bits in the name people give it: 4 for Q4_K with its 4.5, 1 for TQ1_0 with its 1.69."""
    return math.floor(bits_per_element(dtype))


def ggml_type_named(label: str) -> str | None:
    """The ggml type a quantization's name begins with: Q4_K for Q4_K_M and UD-Q4_K_XL.

    Mixes that are named after no type of their own (IQ3_M, Q4) go by the first of their width.
    """
    words = label.upper().removeprefix("UD-")
    exact = max((name for name in GGML_BLOCKS if words.startswith(name)), key=len, default=None)
    return exact or next((name for name in GGML_BLOCKS if name.startswith(words[:3])), None)
