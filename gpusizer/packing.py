"""Packed checkpoints: from stored tensors to the parameters they hold.

Quantizers store several values in one element and add scales, zero points and group
indices. A rule names the suffix of the packed tensor, the companion that proves the
layout, and how many parameters one stored element holds. Layouts: the export code of
AutoGPTQ, AutoAWQ, bitsandbytes, compressed-tensors, TensorRT Model Optimizer, MLX and
transformers' MXFP4 and BitNet integrations, each confirmed on published headers whose
parameter totals are known (tests/unit/test_packing.py).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpusizer.tensors import TensorGroup

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredQuantization:
    """How the checkpoint says it was quantized.

    Attributes:
        method: "gptq", "awq", "bitsandbytes", "fp8", "mxfp4", "nvfp4", "compressed-tensors", …
        bits: bits of one packed weight; None when the configuration does not say.
        group_size: weights that share a scale; None where a whole row or block does.
    """

    method: str
    bits: int | None
    group_size: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"method": self.method, "bits": self.bits, "group_size": self.group_size}


_AUX_SUFFIXES = (
    ".qzeros", ".scales", ".g_idx", ".weight_scale", ".weight_scale_inv", ".weight_scale_2",
    ".input_scale", ".input_global_scale", ".weight_global_scale", ".weight_shape",
    ".weight_g_idx", ".weight_zero_point", ".weight_zero_points", ".k_scale", ".v_scale",
    ".weight.absmax", ".weight.nested_absmax", ".weight.quant_map", ".weight.nested_quant_map",
    ".weight.quant_state.bitsandbytes__nf4", ".weight.quant_state.bitsandbytes__fp4",
    ".SCB", ".weight_format", "_scales", ".biases", ".scale",
)  # fmt: skip
_WEIGHT_SUFFIXES = (".weight", ".qweight", ".weight_packed", "_blocks")
# Suffixes so plain that only a packed neighbour makes them storage rather than parameters.
_NEEDS_LOW_BIT_WEIGHT = (".scale", ".biases", ".scales")
_LOW_BIT_DTYPES = frozenset({"I8", "U8", "U32", "I32", "F8_E4M3", "F8_E5M2", "F4"})


def is_quant_aux(group: TensorGroup, dtypes: Mapping[str, str]) -> bool:
    """Whether `group` only serves to unpack another tensor.

    `dtypes` maps every pattern of the component to its dtype: a suffix counts only when the
    weight it would belong to is there (a router's `scale` is a parameter, a linear's is not).
    """
    for suffix in _AUX_SUFFIXES:
        if not group.pattern.endswith(suffix):
            continue
        stem = group.pattern.removesuffix(suffix)
        if suffix in (".k_scale", ".v_scale"):
            return True
        found = [dtypes[stem + weight] for weight in _WEIGHT_SUFFIXES if stem + weight in dtypes]
        if suffix in _NEEDS_LOW_BIT_WEIGHT:
            return any(dtype in _LOW_BIT_DTYPES for dtype in found)
        return bool(found)
    return False


def logical_shape(
    group: TensorGroup, dtypes: Mapping[str, str], quantization: StoredQuantization | None
) -> Shape:
    """Shape of the parameters a stored tensor holds; its own shape when it is not packed.

    GPTQ and AWQ store [in, out] matrices, so their logical shape is turned to [out, in].
    bitsandbytes 4-bit flattens the matrix: the count is exact, the sides are lost.
    """
    shape, pattern = group.shape, group.pattern
    bits = (quantization.bits or 0) if quantization else 0
    if pattern.endswith(".qweight") and group.dtype == "I32" and len(shape) == 2:
        if quantization is not None and quantization.method == "awq":
            return (_times(shape[1], 32, bits), shape[0])
        return (shape[1], _times(shape[0], 32, bits))
    if pattern.endswith("_blocks") and group.dtype == "U8" and len(shape) == 4:
        return (*shape[:2], shape[2] * shape[3] * 2)
    if pattern.endswith(".weight_packed"):
        return _last_times(shape, 32 if group.dtype == "I32" else 8, bits or 4)
    if not pattern.endswith(".weight"):
        return shape
    return _packed_weight_shape(group, dtypes, bits)


def _packed_weight_shape(group: TensorGroup, dtypes: Mapping[str, str], bits: int) -> Shape:
    """A tensor called plain `weight` whose dtype and companions say that it is packed."""
    stem, shape = group.pattern.removesuffix(".weight"), group.shape
    if group.dtype == "U8" and f"{group.pattern}.absmax" in dtypes:
        return (math.prod(shape) * 2,)
    if group.dtype == "U32" and f"{stem}.scales" in dtypes:
        return _last_times(shape, 32, bits)
    if group.dtype == "U8" and dtypes.get(f"{stem}.weight_scale") == "F8_E4M3":
        return _last_times(shape, 8, 4)
    if group.dtype == "I8" and dtypes.get(f"{stem}.scale") == "F8_E8M0":
        return _last_times(shape, 8, 4)  # DeepSeek-V4 experts: two FP4 values in each int8
    if group.dtype == "U8" and f"{stem}.weight_scale" in dtypes and len(shape) == 2:
        return (shape[0] * 4, shape[1])  # BitNet: four ternary values in each byte, along rows
    return shape


def _last_times(shape: Shape, word_bits: int, bits: int) -> Shape:
    if not shape:
        return shape
    return (*shape[:-1], _times(shape[-1], word_bits, bits))


def _times(length: int, word_bits: int, bits: int) -> int:
    """Values in `length` words; 3-bit packs 32 values in three words, so no flooring per word."""
    return int(length * Fraction(word_bits, bits)) if bits else length


def spare_biases(pattern: str, method: str, real_biases: Collection[str] | None) -> bool:
    """Whether a bias is a row of zeros that AutoGPTQ adds to linears that have none.

    `real_biases` are the linears that do have one in this model class, None when unknown.
    """
    if method != "gptq" or real_biases is None or not pattern.endswith(".bias"):
        return False
    return pattern.removesuffix(".bias").rsplit(".", 1)[-1] not in real_biases
