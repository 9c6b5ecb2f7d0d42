"""Classes of GPUs and of weight formats that share constants."""

# Classes of engines are `Abilities.speed_family`. Classes are listed from the narrowest to the
# widest; constants of a wider class are used if a narrower one was not measured.

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from gpusizer.gpus import Gpu
from gpusizer.memory.quants import Quant

ROOT = "any"  # The widest class: cautious constants for hardware without measurements.

Classes = tuple[str, ...]  # Classes from the narrowest to `ROOT`.

SERVING = "serving"

_GENERATIONS = ("Ada", "Ampere", "Blackwell", "Hopper")
_XE = ("Alchemist", "Battlemage")
# Generations of one source, whose layers `kernels.py` computes from those of another.
_AS_MEASURED = {"m5": "m4"}
# 16-bit operations per byte of bandwidth: fewer mark chips cut down for export (H20), whose cores
# cannot draw it.
_EXPORT_FLOPS_PER_BYTE = 60


_MEMORY = re.compile(r"-[\d.]+gb$")


def board_of(gpu: Gpu) -> str:
    """Return the board's slug without memory: a class measured on one board is of this name."""
    return _MEMORY.sub("", gpu.slug)


@lru_cache(maxsize=512)
def format_class(quant_slug: str, bits: float) -> str:
    """Return the format: "16-bit", "8-bit", "k-quant" (GGUF's nested scales) or "4-bit"."""
    if bits >= 16:
        return "16-bit"
    if bits >= 7:
        return "8-bit"
    return "k-quant" if "_k" in quant_slug else "4-bit"


def format_of(quant: Quant) -> str:
    """Return the format class of a quantization."""
    return format_class(quant.slug, quant.bits)


@lru_cache(maxsize=1024)
def decode_classes(gpu: Gpu) -> Classes:
    """Return the classes for decoding, which is bound by reading weights."""
    # By memory and generation. Apple's chips of one generation share a layer's time from the
    # smallest to the Max, with the same clocks and cores; an Ultra's two dies take longer in every
    # generation.
    if gpu.vendor == "NVIDIA":
        return (*_nvidia(gpu, "gddr", (*_GENERATIONS, "Turing")), ROOT)
    if gpu.vendor == "Apple":
        generation = gpu.architecture.split()[0].lower()
        kind = "ultra" if _tier(gpu) == "ultra" else _AS_MEASURED.get(generation, generation)
        return (f"apple_{kind}", "apple", ROOT)
    wide = _other_vendors(gpu)
    return (*_generation(gpu, wide), *wide, ROOT)


def _generation(gpu: Gpu, wide: Sequence[str]) -> Sequence[str]:
    # Radeons since RDNA 4 and before, and Intel's Xe, have different launch times
    if "amd_radeon" in wide:
        return ("amd_radeon_rdna4" if gpu.architecture == "RDNA 4" else "amd_radeon_older",)
    return [f"intel_{name.lower()}" for name in _XE if name in gpu.architecture]


@lru_cache(maxsize=1024)
def prefill_classes(gpu: Gpu) -> Classes:
    """Return the classes for prompt reading, which is bound by multiplication."""
    # NVIDIA's cards without HBM go by segment: consumer cards accumulate in FP32 at half the rate
    # of professional ones, and kernels reach about the same speed on both. Apple's M5 has matrix
    # units in its GPU cores; the share of others falls with the number of cores.
    if gpu.vendor == "NVIDIA":
        segment = "geforce" if gpu.segment == "consumer" else "pro"
        return (*_nvidia(gpu, segment, _GENERATIONS), ROOT)
    if gpu.vendor == "Apple":
        kind = "m5" if gpu.architecture.startswith("M5") else _tier(gpu)
        return (f"apple_{kind}", "apple", ROOT)
    return (*_other_vendors(gpu), ROOT)


def _nvidia(gpu: Gpu, without_hbm: str, generations: Sequence[str]) -> Classes:
    kind = "hbm" if gpu.memory_type.startswith("HBM") else without_hbm
    generation = next((g.lower() for g in generations if gpu.architecture.startswith(g)), "older")
    if kind == "hbm" and _cut_down(gpu):
        generation = "export"
    elif gpu.memory_type.startswith("LPDDR"):
        generation = "unified"
    return (f"nvidia_{kind}_{generation}", f"nvidia_{kind}")


def _cut_down(gpu: Gpu) -> bool:
    flops, bandwidth = gpu.fp16_flops, gpu.bandwidth_bytes_per_second
    return bool(flops and bandwidth and flops / bandwidth < _EXPORT_FLOPS_PER_BYTE) and (
        gpu.architecture.startswith("Hopper")
    )


def _tier(gpu: Gpu) -> str:
    return next((tier for tier in ("ultra", "max", "pro") if f"-{tier}-" in gpu.slug), "base")


def _other_vendors(gpu: Gpu) -> Classes:
    if gpu.vendor == "AMD":
        if gpu.memory_type.startswith("HBM"):
            return ("amd_instinct", "amd")
        return ("amd_apu" if gpu.unified_memory else "amd_radeon", "amd")
    return ("intel",) if gpu.vendor == "Intel" else ()
