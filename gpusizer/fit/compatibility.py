"""Which quantization runs on which GPU with which engine."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant

# Oldest CUDA architecture each engine's kernels are built for (their installation pages).
_MIN_COMPUTE_CAPABILITY = {
    "vllm": 7.0,
    "sglang": 7.5,
    "tensorrt-llm": 7.5,
    "tgi": 7.5,
    "exllama": 7.0,
    "transformers": 5.0,
    "diffusers": 5.0,
    "llama.cpp": 5.0,
    "ollama": 5.0,
}
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
    "cuda": lambda gpu: gpu.software == "CUDA",  # ExLlamaV3 has no build for ROCm (its README)
    "int4": lambda gpu: gpu.int8_support or gpu.vendor != "NVIDIA",
}


def runs_on(quant: Quant, engine: Engine, gpu: Gpu) -> bool:
    """Whether `engine` runs `quant` on `gpu`, by software stack and hardware support."""
    return runs_engine(engine, gpu) and meets_needs(quant.needs, gpu)


def meets_needs(needs: str, gpu: Gpu) -> bool:
    """Whether the hardware computes in what a quantization needs ("" for nothing special)."""
    return _NEEDS[needs](gpu)


def runs_engine(engine: Engine, gpu: Gpu) -> bool:
    """Whether there is a build of the engine for this GPU."""
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
