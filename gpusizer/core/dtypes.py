"""Element types of the safetensors and GGUF formats, and the bytes their values take."""

# `dtypes.toml` has them with their sources. Unknown names raise KeyError: a guessed width would
# make every later number wrong without a trace.

from __future__ import annotations

import math

from gpusizer.core.tables import toml_of

_TABLES = toml_of(__file__)

# bits of one element, by safetensors dtype name
DTYPE_BITS: dict[str, int] = _TABLES["safetensors"]

# name of a ggml type by its number in GGUF files
GGML_TYPES: dict[int, str] = {number: name for name, (number, _, _) in _TABLES["ggml"].items()}

# ggml type -> (weights per block, bytes per block)
GGML_BLOCKS: dict[str, tuple[int, int]] = {
    name: (weights, size) for name, (_, weights, size) in _TABLES["ggml"].items()
}


def stored_bytes(dtype: str, elements: int) -> int:
    """Return the bytes of `elements` values in a file. Raise KeyError for an unknown `dtype`."""
    # Bits and blocks are rounded up. In GGUF every row fills whole blocks, so a tensor's elements
    # can be counted together.
    if dtype in DTYPE_BITS:
        return (DTYPE_BITS[dtype] * elements + 7) // 8
    block, block_bytes = GGML_BLOCKS[dtype]
    return -(-elements // block) * block_bytes


def bits_per_element(dtype: str) -> float:
    """Return the bits of one value, with the scales of its block. Raise KeyError if unknown."""
    if dtype in DTYPE_BITS:
        return DTYPE_BITS[dtype]
    block, block_bytes = GGML_BLOCKS[dtype]
    return block_bytes * 8 / block


def nominal_bits(dtype: str) -> int:
    """Return the bits in a type's name: 4 for Q4_K with its 4.5, 1 for TQ1_0 with its 1.69."""
    return math.floor(bits_per_element(dtype))


def ggml_type_named(label: str) -> str | None:
    """Return the ggml type a quantization's name begins with: Q4_K for Q4_K_M and UD-Q4_K_XL."""
    # Mixes without a type of their name (IQ3_M, Q4) count as the first type of their width.
    words = label.upper().removeprefix("UD-")
    exact = max((name for name in GGML_BLOCKS if words.startswith(name)), key=len, default=None)
    return exact or next((name for name in GGML_BLOCKS if name.startswith(words[:3])), None)
