"""Which quantization runs on which GPU with which engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpusizer.engines import ENGINES, Engine
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.quants import Quant

# Oldest CUDA architecture each engine's kernels are built for (their installation pages).
_MIN_COMPUTE_CAPABILITY = {
    "vllm": 7.0, "sglang": 7.5, "tensorrt-llm": 7.5, "tgi": 7.5, "exllama": 7.0,
    "transformers": 5.0, "diffusers": 5.0, "llama.cpp": 5.0, "ollama": 5.0,
}  # fmt: skip
# Engines whose AMD kernels need the targets that also have a FlashAttention build.
_NEEDS_AMD_ATTENTION = frozenset({"vllm", "sglang", "tgi", "exllama"})
_WEIGHT_ONLY_FP8 = 8.0  # vLLM's Marlin kernels unpack FP8 weights on Ampere


def _fp8(gpu: Gpu) -> bool:
    return gpu.fp8_support or (_cuda(gpu) or 0) >= _WEIGHT_ONLY_FP8


_NEEDS: dict[str, Callable[[Gpu], bool]] = {
    "": lambda gpu: True,
    "fp8": _fp8,
    "fp4": lambda gpu: gpu.fp4_support,
    "int8": lambda gpu: gpu.int8_support,
    "int4": lambda gpu: gpu.int8_support or gpu.vendor != "NVIDIA",
}


def runs_on(quant: Quant, engine: Engine, gpu: Gpu) -> bool:
    """Whether `engine` runs `quant` on `gpu`, by software stack and hardware support."""
    return _engine_runs(engine, gpu) and _NEEDS[quant.needs](gpu)


def _engine_runs(engine: Engine, gpu: Gpu) -> bool:
    if gpu.software not in engine.stacks:
        return False
    capability = _cuda(gpu)
    if capability is not None and capability < _MIN_COMPUTE_CAPABILITY.get(engine.slug, 0):
        return False
    if gpu.vendor == "AMD" and engine.slug in _NEEDS_AMD_ATTENTION:
        return gpu.flash_attention_2 != "no"
    return True


def _cuda(gpu: Gpu) -> float | None:
    """CUDA compute capability, None for other vendors."""
    if gpu.vendor != "NVIDIA":
        return None
    try:
        return float(gpu.compute_capability)
    except ValueError:
        return None


@lru_cache(maxsize=256)
def support_row(catalogue: Catalogue, engine_slug: str, needs: str) -> npt.NDArray[np.bool_]:
    """For each GPU of the catalogue, whether the engine runs a quantization with these needs."""
    engine, enough = ENGINES[engine_slug], _NEEDS[needs]
    row = np.array([_engine_runs(engine, gpu) and enough(gpu) for gpu in catalogue.gpus])
    row.setflags(write=False)
    return row
