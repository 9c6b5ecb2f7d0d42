"""Compatibility of engines with models, and of quantizations with GPUs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gpusizer.core.messages import Note
from gpusizer.fit.division import refused_degrees
from gpusizer.gpus import Gpu, KernelClass
from gpusizer.memory.engines import ENGINES, Engine
from gpusizer.memory.kv_cache import ALIASES
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import kind_of

_SIXTEEN_BITS = frozenset({"f16", "bf16"})


class Support(NamedTuple):
    """Support of a model and workload by an engine, apart from GPUs and quantizations."""

    kind: bool  # the engine runs this kind of model
    cache: bool  # its cache can have the requested type
    # notes on requested degrees of parallelism that it refuses, and on a model without code for it
    refused: tuple[Note, ...]

    @classmethod
    def between(cls, engine: Engine, profile: ModelProfile, workload: Workload) -> Support:
        """Compare an engine's abilities with a model and a workload."""
        return cls(
            kind_of(profile) in engine.abilities.kinds,
            has_cache_type(engine, workload.kv_dtype),
            (
                *_without_code(engine, profile, workload),
                *refused_degrees(engine, workload, profile),
            ),
        )

    @property
    def runs(self) -> bool:
        """Whether the engine runs the model with the workload."""
        return self.kind and self.cache and not self.refused


def _without_code(engine: Engine, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
    refusal = engine.refusal(profile, workload)
    return () if refusal is None else (refusal,)


def has_cache_type(engine: Engine, kv_dtype: str) -> bool:
    """Whether the engine's cache supports a type, or a pair of types for keys and values."""
    types = {ALIASES.get(part, part) for part in kv_dtype.split("/")}
    return types - _SIXTEEN_BITS <= set(engine.abilities.cache_types)


# Whether the hardware multiplies in the format that a quantization needs, by that need.
_MULTIPLIES: dict[str, Callable[[KernelClass], bool]] = {
    "": lambda kind: True,
    "fp8": lambda kind: kind.fp8_support,
    # NVIDIA's format: vLLM emulates it on AMD (pull request 35733), SGLang and TensorRT-LLM do not.
    "fp4": lambda kind: kind.fp4_support and kind.vendor == "NVIDIA",
    "int8": lambda kind: kind.int8_support,
    "cuda": lambda kind: kind.software == "CUDA",  # ExLlamaV3 has no build for ROCm (its README)
    "int4": lambda kind: kind.int8_support or kind.vendor != "NVIDIA",
    # AWQ's kernels begin with Turing (AutoAWQ's README; vLLM's "Supported Hardware": no Volta).
    "awq": lambda kind: kind.vendor != "NVIDIA" or (kind.cuda or 0.0) >= 7.5,
}


class Runnable(NamedTuple):
    """Abilities of a class of GPUs."""

    multiplied: frozenset[str]  # needs of quantizations in whose format the GPUs multiply
    # (need of a quantization, slug of an engine that runs it on these GPUs).
    pairs: frozenset[tuple[str, str]]


@lru_cache(maxsize=1024)  # visitors describe cards of their own
def runnable(kind: KernelClass) -> Runnable:
    """Return the formats and engines that GPUs of a class run."""
    multiplied = frozenset(needs for needs, multiplies in _MULTIPLIES.items() if multiplies(kind))
    every = [(needs, engine) for needs in _MULTIPLIES for engine in ENGINES.values()]
    pairs = frozenset((n, engine.slug) for n, engine in every if _lacks(n, engine, kind) is None)
    return Runnable(multiplied, pairs)


def has_units(quant: Quant, gpu: Gpu) -> bool:
    """Whether the GPU multiplies in the format of the weights, without unpacking them."""
    return quant.needs in runnable(gpu.kernel_class).multiplied


def runs_on(quant: Quant, engine: Engine, gpu: Gpu) -> bool:
    """Whether `engine` runs `quant` on `gpu`, by software stack and hardware support."""
    return _lacks(quant.needs, engine, gpu.kernel_class) is None


def runs_engine(engine: Engine, gpu: Gpu) -> bool:
    """Whether the engine has a build for this GPU."""
    return _lacks_build(engine, gpu.kernel_class) is None


def why_not(quant: Quant, engine: Engine, gpu: Gpu) -> Note | None:
    """Return why `engine` does not run `quant` on `gpu`, None if it does."""
    code = _lacks(quant.needs, engine, gpu.kernel_class)
    if code is None:
        return None
    about: dict[str, str | float] = {"engine": engine.name, "gpu": gpu.name}
    if code == "engine_no_build":
        about["stack"] = gpu.software
    elif code == "engine_needs_newer":
        about["capability"] = engine.abilities.compute_capability
    elif code.startswith("quant"):
        about["quant"] = quant.name
    return Note(code, **about)


def _lacks(needs: str, engine: Engine, kind: KernelClass) -> str | None:
    return _lacks_build(engine, kind) or _lacks_kernels(needs, engine, kind)


def _lacks_kernels(needs: str, engine: Engine, kind: KernelClass) -> str | None:
    runs = _MULTIPLIES[needs](kind) or _unpacks(engine, needs, kind)
    return None if runs else f"quant_needs_{needs}"


def _lacks_build(engine: Engine, kind: KernelClass) -> str | None:
    if kind.software not in engine.stacks:
        return "engine_no_build"
    if kind.cuda is not None and kind.cuda < engine.abilities.compute_capability:
        return "engine_needs_newer"
    if kind.vendor == "AMD" and engine.abilities.amd_attention and kind.flash_attention_2 == "no":
        return "engine_needs_attention"
    targets = engine.abilities.amd_targets
    if kind.vendor == "AMD" and targets and kind.compute_capability not in targets:
        return "engine_lacks_target"
    return None


def _unpacks(engine: Engine, needs: str, kind: KernelClass) -> bool:
    abilities = engine.abilities
    # Such weights are unpacked on the GPU and multiplied in 16 bits.
    oldest = {"fp8": abilities.unpacks_fp8, "fp4": abilities.unpacks_fp4}.get(needs)
    return oldest is not None and (kind.cuda or 0.0) >= oldest
