"""Arrangement of layers on a machine: llama.cpp's default if it fits, else the nearest to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from gpusizer.fit.placement.device_shares import Arrangement, DeviceShare, Load
from gpusizer.fit.placement.from_disk import DiskReading, disk_reading, unmapped_amount
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.engines.llama_layers import Stage


@dataclass(frozen=True, slots=True)
class Arranged:
    """An arrangement and how it fits."""

    how: Arrangement
    default: bool  # devices get layers in proportion to free memory, llama.cpp's default
    # devices, host: bytes on each device and in system memory
    devices: tuple[DeviceShare, ...]
    host: DeviceShare
    verdicts: tuple[Verdict, ...]  # of every device, in the machine's order
    host_verdict: Verdict | None  # of system memory, None if its size is unknown
    verdict: Verdict
    disk: DiskReading | None = None  # reading from the disk, None if memory holds the whole model

    @property
    def of_layers(self) -> int:
        """All layers of the model, the output counted as one."""
        return sum(share.layers for share in (*self.devices, self.host)) + 1


def arrange(load: Load) -> Arranged:
    """Return the first arrangement that surely fits, else the best of the others."""
    # Tight comes before offloading, offloading before reading from the disk.
    tight = mapped = None
    for arrangement, default in _candidates(load):
        arranged = judged(load, arrangement, default=default)
        if arranged.verdict in (Verdict.FITS, Verdict.OFFLOAD):
            return tight if tight is not None and arranged.verdict is Verdict.OFFLOAD else arranged
        if arranged.verdict is Verdict.TIGHT and tight is None:
            tight = arranged
        if arranged.verdict is Verdict.FROM_DISK and mapped is None:
            mapped = arranged
    usable = tight or mapped
    if usable is not None:
        return usable
    # If nothing fits, the default shows what is missing.
    slots = load.layers + 1 if load.machine.gpus else 0
    return judged(load, Arrangement(default_split(load), slots), default=True)


def default_split(load: Load) -> tuple[int, ...]:
    """Return free bytes of each device: the proportions of llama.cpp's default split."""
    return tuple(gpu.device_free_bytes for gpu in load.machine.gpus)


def _candidates(load: Load) -> Iterator[tuple[Arrangement, bool]]:
    # On unlike cards llama.cpp's split, then cards filled in turn (equal cards share evenly); then
    # routed experts of the fewest layers on the host; then the most layers on the cards; last all
    # on the host.
    everything = load.layers + 1
    if load.machine.gpus and not load.machine.is_uniform:
        yield Arrangement(default_split(load), everything), True
        for cautious in (True, False):
            filled = _filled(load, everything, 0, cautious=cautious)
            if filled is not None:
                yield filled, False
    if load.machine.shares_memory:
        return
    if load.machine.gpus:
        arch = load.profile.architecture
        if arch is not None and arch.experts:
            arrangement = _fewest(load.layers, lambda n: _filled(load, everything, n))
            if arrangement is not None:
                yield arrangement, False
        held_back = load.layers if arch is not None and arch.experts else 0
        for held in sorted({0, held_back}, reverse=True):
            most = _most(everything, partial(_filled, load, cpu_experts=held))
            if most is not None:
                yield most, False
    yield Arrangement((), 0), not load.machine.gpus


def _fewest(limit: int, make: Callable[[int], Arrangement | None]) -> Arrangement | None:
    # The result of `make` for the smallest number from 1 to `limit` for which it is not None.
    low, high = 0, limit
    if make(high) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if make(middle) is None else (low, middle)
    return make(high)


def _most(limit: int, make: Callable[[int], Arrangement | None]) -> Arrangement | None:
    # The result of `make` for the largest number below `limit` for which it is not None.
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if make(middle) is None else (middle, high)
    return make(low) if low else None


def _filled(
    load: Load, gpu_layers: int, cpu_experts: int, *, cautious: bool = True
) -> Arrangement | None:
    # Each device in turn takes as many layers as it holds; None if some are left over.
    first, end = load.layers + 1 - gpu_layers, load.layers + 1
    counts = []
    for number, gpu in enumerate(load.machine.gpus):
        buffers, runtime = load.beside(number, gpu_layers, cpu_experts)
        aside = buffers.high + runtime.high if cautious else buffers.likely + runtime.likely
        room = gpu.device_free_bytes - aside

        def needed(stop: int, start: int = first, device: int = number) -> int:
            end = load.layers
            stage = Stage(min(start, end), min(stop, end), stop > end and stop > start)
            return load.weights_on(device, stage, cpu_experts) + load.cache_on(
                stage.first, stage.end
            )

        stop = first + bisect_right(range(first, end + 1), room, key=needed) - 1
        counts.append(max(0, stop - first))
        first = max(first, stop)
    if first < end:
        return None
    return Arrangement(tuple(counts), gpu_layers, cpu_experts)


def judged(load: Load, arrangement: Arrangement, *, default: bool) -> Arranged:
    """Return how an arrangement fits each device and the system memory."""
    devices, host = load.shares(arrangement), load.host(arrangement)
    memories = [gpu.device_free_bytes for gpu in load.machine.gpus]
    verdicts = tuple(
        _verdict(share, memory) for share, memory in zip(devices, memories, strict=False)
    )
    free = load.machine.free_ram_bytes
    host_verdict = (
        None if free is None or load.machine.shares_memory else _host_verdict(load, host, free)
    )
    whole = not load.machine.gpus or (
        arrangement.gpu_layers > load.layers and not arrangement.cpu_experts
    )
    verdict = _together({*verdicts, *([] if host_verdict is None else [host_verdict])}, whole)
    disk = disk_reading(load, arrangement, host) if verdict is Verdict.FROM_DISK else None
    return Arranged(arrangement, default, devices, host, verdicts, host_verdict, verdict, disk)


def _verdict(share: DeviceShare, memory: int) -> Verdict:
    if share.total.high <= memory:
        return Verdict.FITS
    return Verdict.TIGHT if share.total.likely <= memory else Verdict.DOES_NOT_FIT


def _host_verdict(load: Load, host: DeviceShare, free: int) -> Verdict:
    verdict = _verdict(host, free)
    # An engine that maps its file needs no system memory for weights.
    if verdict is not Verdict.DOES_NOT_FIT or not load.engine.abilities.maps_file:
        return verdict
    return Verdict.FROM_DISK if unmapped_amount(host).high <= free else verdict


def _together(verdicts: set[Verdict], whole: bool) -> Verdict:
    if Verdict.DOES_NOT_FIT in verdicts:
        return Verdict.DOES_NOT_FIT
    if Verdict.FROM_DISK in verdicts:
        return Verdict.FROM_DISK
    if not whole:
        return Verdict.OFFLOAD
    return Verdict.TIGHT if Verdict.TIGHT in verdicts else Verdict.FITS
