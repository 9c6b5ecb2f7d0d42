"""A machine in answers, the contents of each of its devices, and a larger model for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from gpusizer.advice.conclusion.clauses import machine_name
from gpusizer.advice.ranking import Ranked
from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    DerivedModel,
    Notes,
    Stated,
    VerdictWord,
    at,
    derived,
    left_out,
)
from gpusizer.api.quality import QualityInfo, QualityOf
from gpusizer.core.byte_ranges import total
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import SYSTEM_BYTES, Machine
from gpusizer.fit.placement.device_shares import DeviceShare
from gpusizer.fit.run_config import RunConfig, headroom_on
from gpusizer.gpus import Gpu
from gpusizer.launch.llama_cpp import machine_flags
from gpusizer.memory.breakdown import Breakdown
from gpusizer.speed import Rate


class MachineInfo(DerivedModel):
    """The cards, the memory and the backend of a machine."""

    gpus: list[str]
    backend: str = Field(description="of llama.cpp's build")
    ram_bytes: int | None = Field(description="null where the memory is the GPU's")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return _machine(record)


def _machine(machine: Machine) -> dict[str, object]:
    return {
        "gpus": [gpu.slug for gpu in machine.gpus],
        "backend": machine.backend,
        "ram_bytes": None if machine.shares_memory else machine.ram_bytes,
    }


class HeldInfo(DerivedModel):
    """Contents of a device or the system memory of a machine. Memory is never pooled."""

    layers: Stated[int]
    output: Stated[bool] = Field(description="the output lies there, too")
    weights_bytes: Stated[int]
    kv_cache_bytes: Stated[int]
    activations_bytes: Stated[int]
    overhead_bytes: Stated[int]
    total_bytes: Stated[int]
    low_bytes: Stated[int]
    high_bytes: Stated[int]
    headroom_bytes: int | None = left_out("null where the request does not state how much there is")
    verdict: VerdictWord | None = left_out("its own")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return record


class DeviceInfo(HeldInfo):
    """A device of a machine; one that is not used has no layers."""

    gpu: str
    memory_bytes: int
    free_bytes: int


class RamInfo(HeldInfo):
    """The system memory of a machine."""

    installed_bytes: int | None
    reserved_bytes: int = Field(description="taken to be the system's own")


class DiskInfo(AnswerModel):
    """Least amount that a token reads from the disk."""

    resident_bytes: int = Field(description="system memory that is left for pages of the file")
    missing_bytes: int = Field(description="weights in no memory")
    bytes_per_token: int = at("token_bytes")
    bytes_per_second: float = Field(description="of the disk")
    most_tokens_per_second: float | None = Field(description="an upper bound")
    provenance: str


class RigInfo(MachineInfo):
    """The best way on the machine that the request describes."""

    verdict: VerdictWord
    quant: str
    native: bool
    engine: str
    quality: QualityInfo
    devices: list[DeviceInfo] = Field(description="in the order in which software sees them")
    ram: RamInfo | None = Field(description="null where the memory is the GPU's")
    gpu_layers: int | None = Field(
        description="the output counted as one; null under engines that divide the model evenly"
    )
    of_layers: int | None
    disk: DiskInfo | None = Field(description="where the verdict is from_disk")
    tensor_split: list[int] | None = Field(
        description="null too where llama.cpp's own split by free memory is meant"
    )
    n_cpu_moe: int
    max_context: int | None
    decode_tokens_per_second: Rate | None
    flags: list[str] = Field(description="of llama-server")
    notes: Notes

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        place: Ranked = record
        assert context.workload is not None
        config = place.fit.config
        arranged = config.arranged
        how = arranged and arranged.how
        return {
            **_machine(config.machine),
            "verdict": config.verdict.value,
            "quant": config.estimate.quant.slug,
            "native": config.estimate.native,
            "engine": config.estimate.engine.slug,
            "quality": quality_at(config.estimate),
            "devices": list(_devices(config)),
            "ram": _ram(config),
            "gpu_layers": how and how.gpu_layers,
            "of_layers": arranged and arranged.of_layers,
            "disk": arranged and arranged.disk,
            "tensor_split": how.split if how and arranged and not arranged.default else None,
            "n_cpu_moe": how.cpu_experts if how else 0,
            "max_context": place.longest_context,
            "decode_tokens_per_second": place.decode,
            "flags": machine_flags(context.workload, config),
            "notes": (*config.machine.notes, *place.reasons),
        }


def _devices(config: RunConfig) -> Iterator[dict[str, object]]:
    for number, gpu in enumerate(config.machine.gpus):
        yield {**_device(gpu), **_share(config, number, gpu)}


def _share(config: RunConfig, number: int, gpu: Gpu) -> dict[str, object]:
    if config.in_turns is not None:
        left = headroom_on(config.gpu, config.in_turns)
        amounts = _amounts(config.in_turns.per_gpu)
        return {**amounts, "headroom_bytes": left, "verdict": config.verdict.value}
    if config.arranged is None:
        amounts = _amounts(config.estimate.per_gpu)
        return {**amounts, "headroom_bytes": config.headroom_bytes, "verdict": config.verdict.value}
    if number >= len(config.arranged.devices):
        return {"layers": 0}
    share = config.arranged.devices[number]
    return {
        "layers": share.layers,
        "output": share.output,
        **_amounts(share),
        "headroom_bytes": gpu.device_free_bytes - share.total.likely,
        "verdict": config.arranged.verdicts[number].value,
    }


def _device(gpu: Gpu) -> dict[str, object]:
    memory, free = gpu.device_memory_bytes, gpu.device_free_bytes
    return {"gpu": gpu.slug, "memory_bytes": memory, "free_bytes": free}


def _ram(config: RunConfig) -> dict[str, object] | None:
    machine, arranged = config.machine, config.arranged
    if machine.shares_memory:
        return None
    held = config.ram_bytes
    facts = {"installed_bytes": machine.ram_bytes, "reserved_bytes": SYSTEM_BYTES}
    amounts: dict[str, object]
    if arranged is None:
        cache = config.estimate.kv_offload_bytes
        kept = {"kv_cache_bytes": cache} if cache else {}
        amounts = {"weights_bytes": held - cache, **kept, "total_bytes": held}
    else:
        amounts = {"layers": arranged.host.layers, **_amounts(arranged.host)}
        amounts["verdict"] = arranged.host_verdict and arranged.host_verdict.value
    left = None if machine.free_ram_bytes is None else machine.free_ram_bytes - held
    return {**facts, **amounts, "headroom_bytes": left}


def _amounts(held: Breakdown | DeviceShare) -> dict[str, int]:
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


class SiblingInfo(AnswerModel):
    """A larger model of the same series on the same devices (docs/quality.md)."""

    repo_id: str = at("profile.repo_id")
    parameters: int = at("profile.parameters")
    active_parameters: int = at("profile.active_parameters")
    count: int = at("place.fit.count")
    gpu_name: Annotated[str, derived(lambda machine, _: machine_name(machine))] = at(
        "place.fit.machine"
    )
    quant: str = at("place.fit.estimate.quant.slug")
    engine: str = at("place.fit.estimate.engine.slug")
    quality: QualityOf = at("place.fit.estimate")
    verdict: VerdictWord = at("place.fit.verdict")
    headroom_bytes: int = at("place.fit.headroom_bytes")
    decode_tokens_per_second: Rate | None = at("place.decode")
