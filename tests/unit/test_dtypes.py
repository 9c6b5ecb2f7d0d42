"""Element types: against the libraries that write them."""

from __future__ import annotations

import gguf
import pytest

from gpusizer.core.dtypes import (
    DTYPE_BITS,
    GGML_BLOCKS,
    GGML_TYPES,
    bits_per_element,
    nominal_bits,
    stored_bytes,
)
from tests.each import each


def test_ggml_types_are_those_of_the_gguf_package() -> None:
    names = {kind.value: kind.name for kind in gguf.GGMLQuantizationType}
    sizes = {kind.name: size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert names == GGML_TYPES
    assert sizes == GGML_BLOCKS


def test_both_formats_agree_where_they_share_a_name() -> None:
    for dtype in DTYPE_BITS.keys() & GGML_BLOCKS.keys():
        assert GGML_BLOCKS[dtype] == (1, DTYPE_BITS[dtype] // 8)


@each(
    "dtype, elements, size",
    [
        ("Q4_K", 4096 * 14336, 4096 * 14336 * 144 // 256),
        ("Q4_0", 33, 36),  # two blocks
        ("NVFP4", 64, 36),
        ("Q1_0", 256, 36),
        ("Q6_K", 0, 0),
        ("F4", 32, 16),
        ("F4", 3, 2),  # 12 bits fill two bytes
        ("F6_E2M3", 4, 3),
        ("F8_E8M0", 7, 7),
        ("BOOL", 5, 5),
        ("BF16", 8_030_261_248, 16_060_522_496),  # Llama-3.1-8B
        ("F64", 2, 16),
        ("C64", 2, 16),
        ("I64", 0, 0),
    ],
)
def test_stored_bytes(dtype: str, elements: int, size: int) -> None:
    assert stored_bytes(dtype, elements) == size


def test_an_unknown_dtype_is_an_error_not_a_guess() -> None:
    with pytest.raises(KeyError):
        stored_bytes("F12", 1)


@each(
    "dtype, bits, nominal",
    [("Q4_K", 4.5, 4), ("Q6_K", 6.5625, 6), ("TQ1_0", 1.6875, 1), ("BF16", 16, 16), ("F4", 4, 4)],
)
def test_width(dtype: str, bits: float, nominal: int) -> None:
    assert bits_per_element(dtype) == bits
    assert nominal_bits(dtype) == nominal


def test_unknown_types_are_refused() -> None:
    for answer in (lambda: stored_bytes("Q9_K", 1), lambda: bits_per_element("Q9_K")):
        with pytest.raises(KeyError):
            answer()
