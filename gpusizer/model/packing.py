"""Packed checkpoints: the stated quantization, and tensors that only unpack others."""

# Quantizers store several values in one element and add scales, zero points and group indices,
# listed by name ending in `packing.toml`. `unpacking.py` returns shapes of unpacked parameters.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.tables import toml_of
from gpusizer.hub.tensors import TensorGroup


@dataclass(frozen=True, slots=True)
class StoredQuantization:
    """The quantization that the checkpoint's configuration states."""

    method: str  # "gptq", "awq", "bitsandbytes", "fp8", "mxfp4", "nvfp4", "compressed-tensors", …
    bits: int | None  # bits of one packed weight, rounded if they vary; None if not stated
    group_size: int | None = None  # weights that share a scale; None if a whole row or block does
    # tool that asks for an FP8 KV cache ("modelopt", "compressed-tensors"), or None
    fp8_cache: str | None = None


_ENDINGS = toml_of(__file__)
_PACKED_SUFFIXES = (*_ENDINGS["exl"], *_ENDINGS["hqq"])
_SUFFIXES = (*_ENDINGS["companions"], *_ENDINGS["torchao"], *_PACKED_SUFFIXES)

# Endings of tensors that hold weights, packed or not.
WEIGHT_SUFFIXES: tuple[str, ...] = tuple(_ENDINGS["weights"])
_LOW_BIT_DTYPES = frozenset({"I8", "U8", "U32", "I32", "F8_E4M3", "F8_E5M2", "F4"})


def is_quant_aux(group: TensorGroup, dtypes: Mapping[str, str]) -> bool:
    """Return whether `group` only serves to unpack another tensor.

    `dtypes` maps every pattern of the component to its dtype.
    """
    # A suffix counts only if its weight exists: a router's `scale` is a parameter, a linear's is
    # not.
    for suffix in _SUFFIXES:
        if not group.pattern.endswith(suffix):
            continue
        stem = group.pattern.removesuffix(suffix)
        if suffix in (".k_scale", ".v_scale"):
            return True
        if any(stem + weight in dtypes for weight in _ENDINGS["always_packed"]):
            return True
        if suffix in _PACKED_SUFFIXES:
            continue
        weight_dtypes = [
            dtypes[stem + weight] for weight in WEIGHT_SUFFIXES if stem + weight in dtypes
        ]
        if suffix in _ENDINGS["needs_low_bits"]:
            return any(dtype in _LOW_BIT_DTYPES for dtype in weight_dtypes)
        return bool(weight_dtypes)
    return False
