"""Packed checkpoints: from stored tensors to the parameters they hold.

Quantizers store several values in one element and add scales, zero points and group
indices. Here: what the configuration says about that, and which tensors only serve to
unpack others; `unpacking.py` gives the packed ones their parameters back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


_AUX_SUFFIXES = (
    ".qzeros",
    ".scales",
    ".g_idx",
    ".weight_scale",
    ".weight_scale_inv",
    ".weight_scale_2",
    ".input_scale",
    ".input_global_scale",
    ".weight_global_scale",
    ".weight_shape",
    ".weight_g_idx",
    ".weight_zero_point",
    ".weight_zero_points",
    ".k_scale",
    ".v_scale",
    ".weight.absmax",
    ".weight.nested_absmax",
    ".weight.quant_map",
    ".weight.nested_quant_map",
    ".weight.quant_state.bitsandbytes__nf4",
    ".weight.quant_state.bitsandbytes__fp4",
    ".SCB",
    ".weight_format",
    ".qscale_weight",
    ".qscale_act",
    "_scales",
    ".biases",
    ".scale",
    # torchao's tensor subclasses, flattened
    "._weight_scale",
    "._weight_zero_point",
    "._weight_act_pre_scale",
    "._weight_per_tensor_scale",
    "._weight_act_per_tensor_scale",
    "._weight_scale_and_zero",
)
# Companions of the three below alone: endings too plain to mean anything elsewhere.
_PACKED_SUFFIXES = (
    # exllamav2 and exllamav3
    ".q_scale",
    ".q_scale_max",
    ".q_groups",
    ".q_invperm",
    ".q_perm",
    ".suh",
    ".svh",
    ".su",
    ".sv",
    ".mcg",
    ".mul1",
    # HQQ: HQQLinear.state_dict_keys
    ".zero",
    ".nbits",
    ".group_size",
    ".axis",
    ".shape",
    ".packing",
    ".unpack_view_dtype",
    ".view_as_float",
    ".quant_scale",
    ".quant_zero",
    ".compute_dtype",
    ".encoded_state_dict",
    ".stores_quant_config",
    ".channel_wise",
    ".optimize",
    ".round_zero",
    ".offload_meta",
)
WEIGHT_SUFFIXES = (
    ".weight",
    ".qweight",
    ".weight_packed",
    "_blocks",
    ".q_weight",
    ".trellis",
    ".W_q",
    "._weight_qdata",
)
"""Endings of tensors that hold weights, packed or not."""
# Suffixes so plain that only a packed neighbour makes them storage rather than parameters.
_NEEDS_LOW_BIT_WEIGHT = (".scale", ".biases", ".scales")
_LOW_BIT_DTYPES = frozenset({"I8", "U8", "U32", "I32", "F8_E4M3", "F8_E5M2", "F4"})
# Endings that no unpacked tensor has, whatever dtype the packed bytes are viewed as.
_ALWAYS_PACKED = (".W_q", ".trellis", ".q_weight")


def is_quant_aux(group: TensorGroup, dtypes: Mapping[str, str]) -> bool:
    """Whether `group` only serves to unpack another tensor.

    `dtypes` maps every pattern of the component to its dtype: a suffix counts only when the
    weight it would belong to is there (a router's `scale` is a parameter, a linear's is not).
    """
    for suffix in (*_AUX_SUFFIXES, *_PACKED_SUFFIXES):
        if not group.pattern.endswith(suffix):
            continue
        stem = group.pattern.removesuffix(suffix)
        if suffix in (".k_scale", ".v_scale"):
            return True
        if any(stem + weight in dtypes for weight in _ALWAYS_PACKED):
            return True
        if suffix in _PACKED_SUFFIXES:
            continue
        weight_dtypes = [
            dtypes[stem + weight] for weight in WEIGHT_SUFFIXES if stem + weight in dtypes
        ]
        if suffix in _NEEDS_LOW_BIT_WEIGHT:
            return any(dtype in _LOW_BIT_DTYPES for dtype in weight_dtypes)
        return bool(weight_dtypes)
    return False
