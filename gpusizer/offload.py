"""How a model that is too large for its GPUs runs with part of it in system memory."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from gpusizer.engines import Split
from gpusizer.fit import Fitter
from gpusizer.gpus import Gpu
from gpusizer.memory import Estimator, MemoryEstimate
from gpusizer.notes import Note


@dataclass(frozen=True, slots=True)
class Offload:
    """Part of a model on GPUs.

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


def most_layers(fitter: Fitter, gpu: Gpu, whole: MemoryEstimate) -> Offload | None:
    """Most layers that surely fit; None where not even one does or nobody knows the layers."""
    arch = fitter.profile.architecture
    if arch is None:
        return None

    def missing(layers: int) -> int:
        made = _estimate(fitter, whole, gpu_layers=layers)
        return -made.headroom_bytes(gpu.device_memory_bytes, cautious=True)

    layers = max(0, bisect_right(range(arch.layers + 2), 0, key=missing) - 1)
    if not layers:
        return None
    made = _estimate(fitter, whole, gpu_layers=layers)
    return Offload(
        layers=layers,
        of_layers=arch.layers + 1,
        ram_bytes=_elsewhere(fitter, whole, gpu_layers=layers),
        headroom_bytes=made.headroom_bytes(gpu.device_memory_bytes),
    )


def without_experts(fitter: Fitter, gpu: Gpu, whole: MemoryEstimate) -> int | None:
    """Bytes of system memory when only routed experts stay there; None where that is no help."""
    arch = fitter.profile.architecture
    if arch is None or not arch.experts or not whole.sizes.experts:
        return None
    made = _estimate(fitter, whole, cpu_moe=True)
    if made.headroom_bytes(gpu.device_memory_bytes, cautious=True) < 0:
        return None
    return _elsewhere(fitter, whole, cpu_moe=True)


def offload_notes(fitter: Fitter, gpu: Gpu, whole: MemoryEstimate) -> tuple[Note, ...]:
    """What fits and what the rest needs, as reasons."""
    notes = []
    for mode, made in fitter.turns(gpu, whole):
        # Every component starts in system memory and returns to it.
        facts = {"ram_bytes": whole.sizes.total, "gpu_bytes": made.per_gpu.total.likely}
        notes.append(Note(f"pipeline_offload_{mode}", **facts))
        if made.headroom_bytes(gpu.device_memory_bytes, cautious=True) < 0:
            notes.append(Note("may_run_out"))
    part = most_layers(fitter, gpu, whole)
    if part is not None:
        notes.append(
            Note(
                "layers_that_fit",
                layers=part.layers,
                of_layers=part.of_layers,
                ram_bytes=part.ram_bytes,
            )
        )
    spared = without_experts(fitter, gpu, whole)
    if spared is not None:
        notes.append(Note("experts_in_memory", ram_bytes=spared))
    return tuple(notes)


def _estimate(
    fitter: Fitter,
    whole: MemoryEstimate,
    *,
    split: Split | None = None,
    gpu_layers: int | None = None,
    cpu_moe: bool = False,
) -> MemoryEstimate:
    workload = replace(fitter.workload, gpu_layers=gpu_layers, cpu_moe=cpu_moe)
    return Estimator(fitter.profile, workload).estimate(
        whole.quant, whole.engine, whole.sizes, split or whole.split,
        native=whole.native, device_class=whole.device_class,
    )  # fmt: skip


def _elsewhere(
    fitter: Fitter, whole: MemoryEstimate, *, gpu_layers: int | None = None, cpu_moe: bool = False
) -> int:
    """Weights and cache that are not on a GPU."""
    part = _estimate(fitter, whole, split=Split(), gpu_layers=gpu_layers, cpu_moe=cpu_moe).per_gpu
    cache = _estimate(fitter, whole, split=Split()).per_gpu.kv_cache.likely
    return whole.sizes.total - part.weights.likely + cache - part.kv_cache.likely
