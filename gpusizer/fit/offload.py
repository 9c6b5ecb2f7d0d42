"""How a model that is too large for its GPUs runs with part of it in system memory."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.fit.fit import Fitter, headroom_on
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Split
from gpusizer.memory.estimate import Estimator, MemoryEstimate


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


def most_layers(fitter: Fitter, gpu: Gpu, on_gpus: MemoryEstimate) -> Offload | None:
    """Most layers that surely fit; None if not even one does or the number is unknown."""
    arch = fitter.profile.architecture
    if arch is None:
        return None

    def missing(layers: int) -> int:
        estimate = _estimate(fitter, on_gpus, gpu_layers=layers)
        return -headroom_on(gpu, estimate, cautious=True)

    layers = max(0, bisect_right(range(arch.layers + 2), 0, key=missing) - 1)
    if not layers:
        return None
    estimate = _estimate(fitter, on_gpus, gpu_layers=layers)
    return Offload(
        layers=layers,
        of_layers=arch.layers + 1,
        ram_bytes=_elsewhere(fitter, on_gpus, gpu_layers=layers),
        headroom_bytes=headroom_on(gpu, estimate),
    )


def without_experts(fitter: Fitter, gpu: Gpu, on_gpus: MemoryEstimate) -> int | None:
    """Bytes of system memory when only routed experts stay there; None where that is no help."""
    arch = fitter.profile.architecture
    if arch is None or not arch.experts or not on_gpus.sizes.experts:
        return None
    estimate = _estimate(fitter, on_gpus, cpu_moe=True)
    if headroom_on(gpu, estimate, cautious=True) < 0:
        return None
    return _elsewhere(fitter, on_gpus, cpu_moe=True)


def offload_notes(fitter: Fitter, gpu: Gpu, on_gpus: MemoryEstimate) -> tuple[Note, ...]:
    """Notes on what fits on the GPUs and what the rest takes in system memory."""
    notes = []
    for mode, estimate in fitter.turns(gpu, on_gpus):
        # Every component starts in system memory and returns to it.
        facts = {"ram_bytes": on_gpus.sizes.total, "gpu_bytes": estimate.per_gpu.total.likely}
        notes.append(Note(f"pipeline_offload_{mode}", **facts))
        if headroom_on(gpu, estimate, cautious=True) < 0:
            notes.append(Note("may_run_out"))
    part = most_layers(fitter, gpu, on_gpus)
    if part is not None:
        notes.append(
            Note(
                "layers_that_fit",
                layers=part.layers,
                of_layers=part.of_layers,
                ram_bytes=part.ram_bytes,
            )
        )
    experts_bytes = without_experts(fitter, gpu, on_gpus)
    if experts_bytes is not None:
        notes.append(Note("experts_in_memory", ram_bytes=experts_bytes))
    return tuple(notes)


def _estimate(
    fitter: Fitter,
    on_gpus: MemoryEstimate,
    *,
    split: Split | None = None,
    gpu_layers: int | None = None,
    cpu_moe: bool = False,
) -> MemoryEstimate:
    workload = replace(fitter.workload, gpu_layers=gpu_layers, cpu_moe=cpu_moe)
    return Estimator(fitter.profile, workload).estimate(
        on_gpus.quant,
        on_gpus.engine,
        on_gpus.sizes,
        split or on_gpus.split,
        native=on_gpus.native,
        device_class=on_gpus.device_class,
    )


def _elsewhere(
    fitter: Fitter, on_gpus: MemoryEstimate, *, gpu_layers: int | None = None, cpu_moe: bool = False
) -> int:
    """Weights and cache that are not on a GPU."""
    part = _estimate(fitter, on_gpus, split=Split(), gpu_layers=gpu_layers, cpu_moe=cpu_moe).per_gpu
    cache = _estimate(fitter, on_gpus, split=Split()).per_gpu.kv_cache.likely
    return on_gpus.loaded_bytes - part.weights.likely + cache - part.kv_cache.likely
