"""Element types of the KV cache that "auto" stands for."""

from __future__ import annotations

from collections.abc import Collection

from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

_AUTO = "auto"


def resolved_type(
    profile: ModelProfile,
    workload: Workload,
    quant: str,
    *,
    native: bool,
    honoured: Collection[str],
) -> str:
    """The type asked for; for "auto" FP8 where the checkpoint says so, or the activations' type.

    `honoured`: tools whose word about the cache the engine takes (`StoredQuantization.fp8_cache`);
    only the checkpoint as stored has one. Weights in FP32 have an FP32 cache: PyTorch's engines
    keep it in the type that the model computes in.
    """
    if workload.kv_dtype != _AUTO:
        return workload.kv_dtype
    stored = profile.quantization
    if native and stored is not None and stored.fp8_cache in honoured:
        return "fp8"
    return "f32" if quant == "fp32" else _AUTO
