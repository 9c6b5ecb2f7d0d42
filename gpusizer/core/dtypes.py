"""Element types of the safetensors and GGUF formats, and the bytes their values take.

Sources: the `Dtype` enumeration of the safetensors library (safetensors/src/tensor.rs);
ggml-common.h of llama.cpp, repeated in the `gguf` package's GGML_QUANT_SIZES. Unknown names
are an error for the caller to raise: guessing a width would make every later number wrong
without a trace.
"""

from __future__ import annotations

import math

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

# Number in a file, name, weights of a block, bytes of a block. Numbers that are missing
# belong to types that llama.cpp has withdrawn.
_GGML = (
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 40),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
)

GGML_TYPES: dict[int, str] = {number: name for number, name, _, _ in _GGML}
"""Name of a ggml type by its number in GGUF files."""

GGML_BLOCKS: dict[str, tuple[int, int]] = {name: (n, size) for _, name, n, size in _GGML}
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
