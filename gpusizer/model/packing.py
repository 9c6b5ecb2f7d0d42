"""Packed checkpoints: from stored tensors to the parameters they hold.

Quantizers store several values in one element and add scales, zero points and group
indices. Here: what the configuration says about that, and which tensors only serve to
unpack others, by the endings of `packing.toml`; `unpacking.py` gives the packed ones their
parameters back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.tables import toml_of
from gpusizer.hub.tensors import TensorGroup


@dataclass(frozen=True, slots=True)
class StoredQuantization:
    """The quantization that the checkpoint's configuration states.

    Attributes:
        method: "gptq", "awq", "bitsandbytes", "fp8", "mxfp4", "nvfp4", "compressed-tensors", …
        bits: bits of one packed weight, rounded where they vary; None when nothing says it.
        group_size: weights that share a scale; None where a whole row or block does.
        fp8_cache: the tool that says the KV cache is to be kept in FP8 ("modelopt",
            "compressed-tensors"), None where none does.
    """

    method: str
    bits: int | None
    group_size: int | None = None
    fp8_cache: str | None = None


_ENDINGS = toml_of(__file__)
_PACKED_SUFFIXES = (*_ENDINGS["exl"], *_ENDINGS["hqq"])
_SUFFIXES = (*_ENDINGS["companions"], *_ENDINGS["torchao"], *_PACKED_SUFFIXES)
WEIGHT_SUFFIXES: tuple[str, ...] = tuple(_ENDINGS["weights"])
"""Endings of tensors that hold weights, packed or not."""
_LOW_BIT_DTYPES = frozenset({"I8", "U8", "U32", "I32", "F8_E4M3", "F8_E5M2", "F4"})


def is_quant_aux(group: TensorGroup, dtypes: Mapping[str, str]) -> bool:
    """Whether `group` only serves to unpack another tensor.

    `dtypes` maps every pattern of the component to its dtype: a suffix counts only when the
    weight it would belong to is there (a router's `scale` is a parameter, a linear's is not).
    """
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
