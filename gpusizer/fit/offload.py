"""Offload: how many layers of a large model GPUs hold, or whether all but its routed experts."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.bisection import largest_holding
from gpusizer.fit.study import Study
from gpusizer.fit.way import Way, headroom_on
from gpusizer.memory.engines import Split


@dataclass(frozen=True, slots=True)
class Offload:
    """A model with some of its layers on GPUs and the others in system memory.

    Attributes:
        layers: how many fit, the output counted as one: what `--gpu-layers` takes.
        of_layers: of how many.
        ram_bytes: weights and cache of the others, in system memory.
        headroom_bytes: to spare on each GPU at the likely values.
    """

    layers: int
    of_layers: int
    ram_bytes: int
    headroom_bytes: int


def most_layers(study: Study, whole: Way) -> Offload | None:
    """Most layers that surely fit; None if not even one does or the number is unknown."""
    arch = study.profile.architecture
    if arch is None or whole.machine.shares_memory:
        return None

    def holds(layers: int) -> bool:
        estimate = study.under(gpu_layers=layers, cpu_moe=False).again(whole.estimate)
        return headroom_on(whole.gpu, estimate, cautious=True) >= 0

    layers = largest_holding(holds, arch.layers + 1)
    if not layers:
        return None
    part = study.under(gpu_layers=layers, cpu_moe=False)
    return Offload(
        layers=layers,
        of_layers=arch.layers + 1,
        ram_bytes=_elsewhere(study, part, whole),
        headroom_bytes=headroom_on(whole.gpu, part.again(whole.estimate)),
    )


def without_experts(study: Study, whole: Way) -> int | None:
    """Bytes of system memory when only routed experts stay there; None where that is no help."""
    arch = study.profile.architecture
    if arch is None or not arch.experts or not whole.estimate.sizes.experts:
        return None
    if whole.machine.shares_memory:
        return None
    part = study.under(gpu_layers=None, cpu_moe=True)
    if headroom_on(whole.gpu, part.again(whole.estimate), cautious=True) < 0:
        return None
    return _elsewhere(study, part, whole)


def _elsewhere(study: Study, part: Study, whole: Way) -> int:
    """Weights and cache that are not on a GPU."""
    on_gpus = part.again(whole.estimate, Split()).per_gpu
    without = study.under(gpu_layers=None, cpu_moe=False)
    everything = without.again(whole.estimate, Split()).per_gpu
    cache = everything.kv_cache.likely - on_gpus.kv_cache.likely
    return whole.estimate.loaded_bytes - on_gpus.weights.likely + cache
