"""The JSON of a machine that a request describes, and of the best way to run a model there."""

from __future__ import annotations

from gpusizer.answers.json_shapes import Json, parts
from gpusizer.answers.launch.llama_cpp import machine_flags
from gpusizer.core.byte_ranges import total
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import SYSTEM_BYTES, Machine
from gpusizer.fit.placement.device_shares import DeviceShare
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.way import Way
from gpusizer.gpus import Gpu
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.workload import Workload


def machine_json(machine: Machine) -> Json:
    """The cards, the memory and the backend of a machine."""
    return {
        "gpus": [gpu.slug for gpu in machine.gpus],
        "backend": machine.backend,
        "ram_bytes": None if machine.shares_memory else machine.ram_bytes,
    }


def rig_json(place: Ranked, workload: Workload) -> Json:
    """The `rig` object of a report.

    `devices` come in the order that software sees them; `verdict` of each is its own, memory is
    never pooled. `ram` is null where the memory is the GPU's; its `headroom_bytes` where nobody
    said how much there is. `gpu_layers` counts the output as one of `of_layers`, and is null with
    `tensor_split` under engines that divide the model evenly; `tensor_split` is null too where
    llama.cpp's own split by free memory is meant. `disk` says what a token reads from the disk
    where the verdict is "from_disk". `flags` are llama-server's.
    """
    way, fit = place.fit.way, place.fit
    arranged = way.arranged
    how = arranged and arranged.how
    return {
        **machine_json(way.machine),
        **parts(way, "verdict"),
        "quant": way.estimate.quant.slug,
        "native": way.estimate.native,
        "engine": way.estimate.engine.slug,
        "quality": quality_at(way.estimate),
        "devices": devices_json(way),
        "ram": ram_json(way),
        **parts(how, "gpu_layers"),
        **parts(arranged, "of_layers", "disk"),
        "tensor_split": how.split if how and arranged and not arranged.default else None,
        "n_cpu_moe": how.cpu_experts if how else 0,
        "max_context": fit.max_context,
        "decode_tokens_per_second": place.decode,
        "flags": machine_flags(workload, way),
        "notes": (*way.machine.notes, *place.reasons),
    }


def devices_json(way: Way) -> list[Json]:
    """The share of each device; unused devices have no layers."""
    if way.arranged is None:
        amounts = _amounts_json(way.estimate.per_gpu)
        facts = {**amounts, **parts(way, "headroom_bytes", "verdict")}
        return [{**_device_json(gpu), **facts} for gpu in way.machine.gpus]
    rows = []
    for number, gpu in enumerate(way.machine.gpus):
        if number >= len(way.arranged.devices):
            rows.append({**_device_json(gpu), "layers": 0})
            continue
        share = way.arranged.devices[number]
        rows.append(
            {
                **_device_json(gpu),
                **parts(share, "layers", "output"),
                **_amounts_json(share),
                "headroom_bytes": gpu.device_free_bytes - share.total.likely,
                "verdict": way.arranged.verdicts[number],
            }
        )
    return rows


def _device_json(gpu: Gpu) -> Json:
    memory, free = gpu.device_memory_bytes, gpu.device_free_bytes
    return {"gpu": gpu.slug, "memory_bytes": memory, "free_bytes": free}


def ram_json(way: Way) -> Json | None:
    """What system memory holds; `reserved_bytes` are taken to be the system's own."""
    machine, arranged = way.machine, way.arranged
    if machine.shares_memory:
        return None
    facts = {"installed_bytes": machine.ram_bytes, "reserved_bytes": SYSTEM_BYTES}
    if arranged is None:
        held = way.estimate.host_bytes
        amounts: Json = {"weights_bytes": held, "total_bytes": held}
    else:
        held = arranged.host.total.likely
        amounts = {**parts(arranged.host, "layers"), **_amounts_json(arranged.host)}
        amounts["verdict"] = arranged.host_verdict
    left = None if machine.free_ram_bytes is None else machine.free_ram_bytes - held
    return {**facts, **amounts, "headroom_bytes": left}


def _amounts_json(held: Breakdown | DeviceShare) -> Json:
    outside = (held.outside,) if isinstance(held, Breakdown) else ()
    return {
        "weights_bytes": held.weights.likely,
        "kv_cache_bytes": held.kv_cache.likely,
        "activations_bytes": held.activations.likely,
        "overhead_bytes": total((held.overhead, *outside)).likely,
        "total_bytes": held.total.likely,
        "low_bytes": held.total.low,
        "high_bytes": held.total.high,
    }
