"""RigPlan: the best way to run a model on a rig, and the switches of llama.cpp that say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note, Say, note_json
from gpusizer.core.units import significant
from gpusizer.fit.capacity_limits import largest_holding
from gpusizer.fit.fit import OFFLOAD_ENGINES, Fitter, Verdict
from gpusizer.fit.mixed_gpus.arrangement import Arranged, arrange, judged
from gpusizer.fit.mixed_gpus.device_shares import DeviceShare, Load
from gpusizer.fit.mixed_gpus.from_disk import DiskReading, disk_notes, disk_reading
from gpusizer.fit.mixed_gpus.machine import SYSTEM_BYTES, Rig
from gpusizer.fit.speed import Rate, decode_rate
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.kv_cache import grows, llama_cpp_types
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import MOST_CONTEXT, Workload


@dataclass(frozen=True, slots=True)
class RigPlan:
    """How a model runs on one machine.

    Attributes:
        estimate: the model on one device of unlimited memory: what does not depend on the machine.
        arranged: the arrangement on the devices, and whether it fits.
        max_context: longest single sequence that surely fits in the same arrangement, None where
            the cache does not grow.
        decode: tokens/s of one user; None where part of it is in system memory, whose speed
            nobody stated, or a card's is not known.
        disk: what a token reads from the disk, None where memory holds the whole model.
        flags: switches of llama-server.
        notes: what the reader must know.
    """

    rig: Rig
    workload: Workload
    estimate: MemoryEstimate
    arranged: Arranged
    max_context: int | None
    decode: Rate | None
    disk: DiskReading | None
    flags: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def verdict(self) -> Verdict:
        return self.arranged.verdict

    @property
    def headroom_bytes(self) -> int:
        """Bytes to spare on the fullest device at the likely values; of system memory without
        devices.
        """
        arranged, rig = self.arranged, self.rig
        if arranged.devices:
            pairs = zip(arranged.devices, rig.gpus, strict=False)
            return min(gpu.device_free_bytes - share.total.likely for share, gpu in pairs)
        return (rig.free_ram_bytes or 0) - arranged.host.total.likely


def plan_rig(fitter: Fitter, rig: Rig, *, explore: bool = True) -> RigPlan:
    """The best way to run the fitter's model there.

    The most faithful of its quantizations that surely fits the cards, else one that is tight;
    else the most faithful of the fewest bits with a part in system memory, last with one on the
    disk; where nothing fits the narrowest tells what is missing. Raises InvalidRequest where
    llama.cpp runs none of them, or the layers of the model are not known.

    Without `explore` the longest context and the speed, which take most of the time, are None.
    """
    best: tuple[tuple[float, ...], Load, Arranged] | None = None
    for load in _loads(fitter, rig):
        arranged = arrange(load)
        rank = _preference(arranged.verdict, load.estimate.quant)
        if best is None or rank < best[0]:
            best = (rank, load, arranged)
        if arranged.verdict is Verdict.FITS:
            break
    if best is None:
        names = ", ".join(quant.slug for quant, _ in fitter.quants)
        raise InvalidRequest(field="quant", value=names[:80], reason="rig_quant")
    return _planned(best[1], best[2], explore=explore)


def _preference(verdict: Verdict, quant: Quant) -> tuple[float, ...]:
    if verdict in (Verdict.OFFLOAD, Verdict.FROM_DISK):
        return (verdict.place, quant.bits, quant.order)
    narrowest = verdict is Verdict.DOES_NOT_FIT
    return (verdict.place, 0, -quant.order if narrowest else quant.order)


def _loads(fitter: Fitter, rig: Rig) -> Iterator[Load]:
    """Every quantization that llama.cpp runs, the most faithful first."""
    profile, workload = fitter.profile, fitter.workload
    if workload.engine is not None and workload.engine not in OFFLOAD_ENGINES:
        raise InvalidRequest(field="engine", value=workload.engine, reason="rig_engine")
    if profile.architecture is None:
        raise InvalidRequest(field="rig", value=profile.repo_id, reason="rig_layers_unknown")
    for quant, native in sorted(fitter.quants, key=lambda pair: pair[0].order):
        engine = _engine(fitter, quant)
        if engine is not None:
            estimate = fitter.estimate(quant, native, engine, Split(), rig.device_class)
            yield Load(profile, workload, rig, engine, estimate)


def _engine(fitter: Fitter, quant: Quant) -> Engine | None:
    return next(
        (engine for engine in fitter.engines(quant) if engine.slug in OFFLOAD_ENGINES), None
    )


def _planned(load: Load, arranged: Arranged, *, explore: bool) -> RigPlan:
    notes = list(load.rig.notes)
    if load.rig.gpus and len(load.rig.gpus) > 1 and not arranged.default:
        notes.append(Note("rig_split_tuned"))
    if load.rig.free_ram_bytes is None and arranged.verdict is Verdict.OFFLOAD:
        notes.append(Note("rig_needs_ram", ram_bytes=arranged.host.total.likely))
    if arranged.verdict is Verdict.OFFLOAD:
        notes.append(Note("rig_speed_unknown"))
    disk = None
    if arranged.verdict is Verdict.FROM_DISK:
        disk = disk_reading(load, arranged.how, arranged.host)
        notes += disk_notes(disk)
    kind = load.workload.kv_dtype
    if llama_cpp_types(kind) is None:
        notes.append(Note("launch_cache_type", engine=load.engine.slug, kv_dtype=kind))
    return RigPlan(
        rig=load.rig,
        workload=load.workload,
        estimate=load.estimate,
        arranged=arranged,
        max_context=_longest(load, arranged) if explore else None,
        decode=rig_rate(load, arranged) if explore else None,
        disk=disk,
        flags=flags(load, arranged),
        notes=tuple(notes),
    )


def _longest(load: Load, arranged: Arranged) -> int | None:
    """The longest context, up to the model's limit, that fits in the same arrangement."""
    arch = load.profile.architecture
    if arch is None or not grows(arch):
        return None
    limit = min(arch.max_context or MOST_CONTEXT, MOST_CONTEXT)

    enough = {Verdict.FITS}
    if arranged.verdict is Verdict.FROM_DISK:
        enough.add(Verdict.FROM_DISK)

    def holds(context: int) -> bool:
        other = replace(load, workload=replace(load.workload, context=context, concurrency=1))
        longer = judged(other, arranged.how, default=arranged.default)
        every = {*longer.verdicts, longer.host_verdict or Verdict.FITS}
        return every <= enough

    return largest_holding(holds, limit)


def flags(load: Load, arranged: Arranged) -> tuple[str, ...]:
    """Switches of llama-server for this arrangement: -c is for all sequences together."""
    workload, arrangement = load.workload, arranged.how
    words = ["-c", str(workload.context * workload.concurrency)]
    if workload.concurrency > 1:
        words += ["-np", str(workload.concurrency)]
    words += ["-ngl", str(arrangement.gpu_layers)]
    if arrangement.gpu_layers and len(load.rig.gpus) > 1 and not arranged.default:
        words += ["-ts", ",".join(map(str, arrangement.split))]
    if arrangement.cpu_experts:
        words += ["--n-cpu-moe", str(arrangement.cpu_experts)]
    types = llama_cpp_types(workload.kv_dtype)
    if types is not None and types != ("f16", "f16"):
        words += ["-ctk", types[0], "-ctv", types[1]]
    if not workload.flash_attention:
        words += ["-fa", "off"]
    for switch, size in (("-b", workload.batch_size), ("-ub", workload.ubatch_size)):
        words += [switch, str(size)] if size else []
    return tuple(words)


def rig_rate(load: Load, arranged: Arranged) -> Rate | None:
    """Tokens/s of one user: the times that each card takes for its part of the weights, added up.

    None where part of the model is in system memory, and where a card's speed is not known.
    """
    if not arranged.verdict.all_on_gpu or not arranged.devices:
        return None
    weight_bytes = sum(share.weights.likely for share in arranged.devices)
    seconds = [0.0, 0.0, 0.0]
    for gpu, share in zip(load.rig.gpus, arranged.devices, strict=True):
        if not share.weights.likely:
            continue
        alone = decode_rate(load.profile, load.estimate, load.workload, gpu)
        if alone is None or not alone.low:
            return None
        part = share.weights.likely / weight_bytes
        for place, rate in enumerate((alone.low, alone.likely, alone.high)):
            seconds[place] += part / rate
    return Rate(*(significant(1 / time) for time in seconds))


def rig_json(plan: RigPlan, say: Say) -> dict[str, Any]:
    """The `rig` object of a report.

    `devices` come in the order llama.cpp sees them; `verdict` of each is its own, memory is never
    pooled. `ram` is null where the memory is the GPU's; its `headroom_bytes` where nobody said how
    much there is. `gpu_layers` counts the output as one of `of_layers`; `tensor_split` is null
    where llama.cpp's own split by free memory is meant. `disk` says what a token reads from the
    disk where the verdict is "from_disk". `flags` are llama-server's.
    """
    arranged = plan.arranged
    return {
        **machine_json(plan.rig),
        "quant": plan.estimate.quant.slug,
        "native": plan.estimate.native,
        "engine": plan.estimate.engine.slug,
        "verdict": plan.verdict.value,
        "devices": devices_json(plan),
        "ram": ram_json(plan),
        "gpu_layers": arranged.how.gpu_layers,
        "of_layers": sum(share.layers for share in (*arranged.devices, arranged.host)) + 1,
        "tensor_split": None if arranged.default else list(arranged.how.split),
        "n_cpu_moe": arranged.how.cpu_experts,
        "max_context": plan.max_context,
        "decode_tokens_per_second": plan.decode.to_json() if plan.decode else None,
        "disk": plan.disk.to_json() if plan.disk else None,
        "flags": list(plan.flags),
        "notes": [note_json(note, say) for note in plan.notes],
    }


def machine_json(rig: Rig) -> dict[str, Any]:
    """The cards, the memory and the backend of a rig."""
    return {
        "gpus": [gpu.slug for gpu in rig.gpus],
        "backend": rig.backend,
        "ram_bytes": None if rig.shares_memory else rig.ram_bytes,
    }


def devices_json(plan: RigPlan) -> list[dict[str, Any]]:
    """The share of each device; unused devices have no layers."""
    rows = []
    arranged = plan.arranged
    for number, gpu in enumerate(plan.rig.gpus):
        if number >= len(arranged.devices):
            rows.append({**_device_json(gpu), "layers": 0})
            continue
        share = arranged.devices[number]
        rows.append(
            {
                **_device_json(gpu),
                "layers": share.layers,
                "output": share.output,
                **_share_json(share),
                "headroom_bytes": gpu.device_free_bytes - share.total.likely,
                "verdict": arranged.verdicts[number].value,
            }
        )
    return rows


def _device_json(gpu: Gpu) -> dict[str, Any]:
    return {
        "gpu": gpu.slug,
        "memory_bytes": gpu.device_memory_bytes,
        "free_bytes": gpu.device_free_bytes,
    }


def ram_json(plan: RigPlan) -> dict[str, Any] | None:
    """What system memory holds; `reserved_bytes` are taken to be the system's own."""
    rig, host = plan.rig, plan.arranged.host
    if rig.shares_memory:
        return None
    verdict, free = plan.arranged.host_verdict, rig.free_ram_bytes
    return {
        "installed_bytes": rig.ram_bytes,
        "reserved_bytes": SYSTEM_BYTES,
        "layers": host.layers,
        **_share_json(host),
        "headroom_bytes": None if free is None else free - host.total.likely,
        "verdict": None if verdict is None else Verdict(verdict).value,
    }


def _share_json(share: DeviceShare) -> dict[str, int]:
    total = share.total
    return {
        "weights_bytes": share.weights.likely,
        "kv_cache_bytes": share.kv_cache.likely,
        "activations_bytes": share.activations.likely,
        "overhead_bytes": share.overhead.likely,
        "total_bytes": total.likely,
        "low_bytes": total.low,
        "high_bytes": total.high,
    }
