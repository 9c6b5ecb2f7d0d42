"""Speeds of a model divided among devices and system memory, as llama.cpp runs it.

Decoding passes through the layers in turn: a device reads its layers at its bandwidth, the
processor those in system memory at that of the memory modules. A token reads only its routed
experts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, significant
from gpusizer.fit.machine import Machine
from gpusizer.fit.placement.device_shares import Arrangement, Load
from gpusizer.fit.placement.from_disk import disk_reading
from gpusizer.gpus import Gpu
from gpusizer.memory.engines.llama_layers import Stage, shared_stages, ubatch
from gpusizer.speed import ModelFacts, Rate, Work, decode_bands, serving_bands
from gpusizer.speed.decode import pace_of, step_cost
from gpusizer.speed.links import SECONDS_PER_HOP
from gpusizer.speed.prefill import prompt_token_seconds
from gpusizer.speed.rate import RateBand

# Share of the modules' nominal bandwidth at which a processor reads dense layers: 0.57 to 0.65 of
# 460.8 GB/s on an EPYC 9554 (Phi-4 at 28.7 to 19.2 tokens/s in Q4_K_M to Q8_0, ahelpme.com), 0.75
# of four channels of DDR4-3200 on a Threadripper 3970X, 0.67 of two of DDR4-2400 on an i7-7820HQ
# (normiebench 52 and 42), 0.78 of 89.6 GB/s on a Ryzen AI 9 HX 370 (llama.cpp issue 19480).
MEMORY_EFFICIENCY = 0.67
# Share for routed experts, which are scattered, on top of HAND_OVER_SECONDS per layer. Milliseconds
# per layer beyond the GPU's own, measured and computed: Qwen3.6-35B-A3B in Q4_K_M on DDR5 of 96
# GB/s 0.37 and 0.41 (51 tokens/s on an RTX 5070 Ti, 79 with half of the layers there), under
# Windows 0.56 (36.5 on an RTX 5080, ollama issue 11772); Qwen3-30B-A3B in Q4_K_M on 102 GB/s 0.52
# and 0.53 (36.7 on an RTX 2080, AlexsJones/llmfit PR 755); gpt-oss-120b on 89.6 GB/s 1.46 and 1.19
# (19 on an RX 6900 XT).
EXPERT_MEMORY_EFFICIENCY = 0.55
# Transfer of a token's state to the processor and back, per layer with experts in memory.
HAND_OVER_SECONDS = 120e-6
# Synchronization of the processor's threads, per layer, on top of reading.
LAYER_SECONDS = 30e-6
# Spread of machines with one nominal bandwidth around these constants.
_MEMORY_BAND = RateBand(0.75, 1.3)
# Scattered pages are read more slowly than files in sequence.
_DISK_BAND = RateBand(0.4, 1.0)

OFFLOADED_BATCH = 32
# Share of one direction of PCIe at which mapped pages are copied: prompts of gpt-oss-120b at 134
# and 246 tokens/s, 512 at a time, are 16 and 22 of 32 GB/s (r/LocalLLaMA 1mke7ef,
# www.hardware-corner.net).
_LINK_REACHED = 0.55
_USUAL_LINK = 64e9
# FLOP/s of a processor on prompts: 2.3e12 on a Threadripper 3970X, 0.34e12 on an i7-7820HQ of four
# cores (normiebench 52 and 42, Llama-3.1-8B in Q4_K_M).
_PROCESSOR_FLOPS = {"desktop": 0.9e12, "workstation": 2.0e12, "server": 3.0e12, "stated": 1.4e12}
_PROCESSOR_BAND = RateBand(0.45, 2.2)


@dataclass(frozen=True, slots=True)
class ResidentWeights:
    """Part of the decoder in one memory."""

    dense: int  # `dense`, `experts`: bytes of weights, without and of routed experts
    experts: int
    cache: int  # bytes of one sequence
    layers: int
    expert_layers: int  # number of layers whose routed experts it holds


def part_decode_rate(load: Load, how: Arrangement) -> Rate | None:
    """Return tokens/s of one user; None for an unknown device or a model that writes no text."""
    facts = ModelFacts.from_profile(load.profile, load.workload)
    if facts is None:
        return None
    work = Work.from_facts(facts, load.estimate)
    memory = system_memory(load.machine)
    host = _host(load, how)
    seconds = [_host_seconds(load, how, work, host, memory)] * 3
    band = memory.band.widened(_MEMORY_BAND)
    seconds = [time / factor for time, factor in zip(seconds, _ends(band), strict=True)]
    reading = disk_reading(load, how, load.host(how)) if _is_short(load, how) else None
    if reading is not None:
        disk = reading.token_bytes / reading.bytes_per_second
        ends = _ends(_DISK_BAND)
        seconds = [time + disk / factor for time, factor in zip(seconds, ends, strict=True)]
    for place, (gpu, held) in enumerate(_devices(load, how)):
        part = _part(work, held, load)
        cost = step_cost(part, gpu, 1)
        if cost is None:
            return None
        alone = cost.seconds(pace_of(part, gpu)) + SECONDS_PER_HOP * (place > 0)
        factors = _ends(decode_bands(part, gpu)[0])
        seconds = [time + alone / factor for time, factor in zip(seconds, factors, strict=True)]
    return Rate(*(significant(1 / time) for time in seconds)) if seconds[1] else None


def part_prefill_rate(load: Load, how: Arrangement) -> Rate | None:
    """Return prompt tokens/s of one prompt; None for an unknown device or a model without text."""
    facts = ModelFacts.from_profile(load.profile, load.workload)
    if facts is None:
        return None
    work, memory, host = (
        Work.from_facts(facts, load.estimate),
        system_memory(load.machine),
        _host(load, how),
    )
    # A prompt is computed on the first device. Weights in system memory are copied there once per
    # batch of 32 tokens or more (`offload_op` of ggml-cuda.cu, ggml-vulkan.cpp and ggml-sycl.cpp,
    # GGML_OP_OFFLOAD_MIN_BATCH), of experts only those that the batch uses
    # (ggml_backend_sched_compute_splits, pull request 15346). The processor computes smaller
    # batches, and all of them without a device.
    batch = min(facts.prompt, ubatch(load.workload))
    devices = list(_devices(load, how))
    if not devices or (batch < OFFLOADED_BATCH and (host.dense or host.experts)):
        flop = 2 * facts.matrix_parameters + facts.attention_flops
        return Rate.banded(_PROCESSOR_FLOPS[memory.kind] / flop, _PROCESSOR_BAND)
    gpu, seconds = devices[0][0], 0.0
    computed = sum(held.layers for _, held in devices) + host.layers
    for place, (device, held) in enumerate(devices):
        alone = prompt_token_seconds(work, device)
        if alone is None:
            return None
        seconds += alone * (held.layers + host.layers * (place == 0)) / max(1, computed)
    copied = host.dense + host.experts * work.expert_share(batch)
    link = (gpu.pcie_bytes_per_second or _USUAL_LINK) / 2 * _LINK_REACHED
    upload = copied / link / batch
    ends = zip(_ends(serving_bands(work, gpu)[1]), _ends(_MEMORY_BAND), strict=True)
    return Rate(*(significant(1 / (seconds / end + upload / reached)) for end, reached in ends))


def _ends(band: RateBand) -> tuple[float, float, float]:
    return band.low, 1.0, band.high


def _is_short(load: Load, how: Arrangement) -> bool:
    free = load.machine.free_ram_bytes
    return free is not None and load.host(how).total.likely > free


def _host_seconds(
    load: Load, how: Arrangement, work: Work, host: ResidentWeights, memory: SystemMemory
) -> float:
    dense = (host.dense + host.cache) / MEMORY_EFFICIENCY
    experts = host.experts * work.expert_share(1) / EXPERT_MEMORY_EFFICIENCY
    apart = max(0, host.expert_layers - host.layers)
    handed_over = apart + (how.gpu_layers > 0 and host.layers > 0)
    return (
        (dense + experts) / memory.bytes_per_second
        + host.layers * LAYER_SECONDS
        + handed_over * HAND_OVER_SECONDS
    )


def _devices(load: Load, how: Arrangement) -> Iterator[tuple[Gpu, ResidentWeights]]:
    if not how.gpu_layers:
        return
    stages = shared_stages(load.layers, how.gpu_layers, how.split)
    for gpu, stage in zip(load.machine.gpus, stages, strict=False):
        if stage.end > stage.first or stage.output:
            yield gpu, _held(load, stage, how.cpu_experts)


def _held(load: Load, stage: Stage, cpu_experts: int) -> ResidentWeights:
    parts, first, end = load.parts, stage.first, stage.end
    from_here = min(max(first, cpu_experts), end)
    routed = parts.experts[end] - parts.experts[first]
    return ResidentWeights(
        dense=parts.layers[end] - parts.layers[first] - routed + parts.output * stage.output,
        experts=parts.experts[end] - parts.experts[from_here],
        cache=load.cache_on(first, end) // load.workload.concurrency,
        layers=end - first,
        expert_layers=end - from_here,
    )


def _host(load: Load, how: Arrangement) -> ResidentWeights:
    below = min(load.layers, load.layers + 1 - how.gpu_layers)
    whole = _held(load, Stage(0, below, not how.gpu_layers), 0)
    until = max(below, min(how.cpu_experts, load.layers))
    return replace(whole, experts=load.parts.experts[until], expert_layers=until)


def _part(work: Work, held: ResidentWeights, load: Load) -> Work:
    # Weights of drafts, which no step reads, count in no device.
    facts, parts = work.facts, load.parts
    routed = parts.experts[-1]
    share = held.layers / load.layers
    dense = held.dense / max(1, parts.layers[-1] - routed + parts.output)
    return replace(
        work,
        dense_bytes=round(work.dense_bytes * dense),
        expert_bytes=round(work.expert_bytes * held.experts / routed) if routed else 0,
        facts=replace(
            facts,
            layers=held.layers,
            running_layers=facts.running_layers * share,
            launched_layers=facts.launched_layers * share,
            small_layers=facts.small_layers * share,
            state_bytes=min(held.cache, round(facts.state_bytes * share)),
            sink_layers=facts.sink_layers * share,
            delta_layers=facts.delta_layers * share,
            expert_layers=round(facts.expert_layers * held.expert_layers / load.layers),
            cache_bytes=held.cache,
            matrix_parameters=max(1, round(facts.matrix_parameters * share)),
            head_parameters=round(facts.head_parameters * dense),
        ),
    )


_DESKTOP_BYTES = 192 * GIB
_WORKSTATION_BYTES = 768 * GIB
_STATED = RateBand(1.0, 1.0)


@dataclass(frozen=True, slots=True)
class SystemMemory:
    """Bandwidth of a machine's memory modules: as stated, else a band by the kind of machine."""

    # Nominal bandwidth is channels x 8 bytes x transfers a second: two channels of DDR4-3200 are
    # 51.2 GB/s, of DDR5-6000 96; eight of DDR4-3200 204.8; twelve of DDR5-4800 460.8 (JEDEC
    # JESD79-4 and JESD79-5). Boards with two channels take four modules, 192 GB of DDR5 as a rule;
    # boards for workstations have four or eight channels, for servers eight or twelve.
    kind: str  # "stated", or the assumed kind of machine: "desktop", "workstation", "server"
    bytes_per_second: float  # nominal, likely
    band: RateBand  # spread of machines of the kind around it

    @property
    def note(self) -> Note:
        """Note on the bandwidth that a speed assumes."""
        likely, low, high = (
            significant(self.bytes_per_second * factor / GB)
            for factor in (1.0, self.band.low, self.band.high)
        )
        if self.kind == "stated":
            return Note("ram_speed_stated", gb=likely)
        return Note(f"ram_speed_{self.kind}", gb=likely, low=low, high=high)


# Likely, low and high bytes a second; likely values are geometric means of the ends, rounded.
_KINDS = {
    # DDR4-2666 to DDR5-6400 in two channels
    "desktop": (70 * GB, 42.7 * GB, 102.4 * GB),
    # four channels of DDR4-3200 to eight of DDR5-4800
    "workstation": (180 * GB, 102.4 * GB, 307.2 * GB),
    # eight channels of DDR4-3200 to twelve of DDR5-5600
    "server": (330 * GB, 204.8 * GB, 537.6 * GB),
}


def system_memory(machine: Machine) -> SystemMemory:
    """Return a machine's system memory: as stated, else as usual for its kind."""
    if machine.ram_bytes_per_second is not None:
        return SystemMemory("stated", machine.ram_bytes_per_second, _STATED)
    kind = _kind_of(machine)
    likely, low, high = _KINDS[kind]
    return SystemMemory(kind, likely, RateBand(low / likely, high / likely))


def _kind_of(machine: Machine) -> str:
    professional = [gpu for gpu in machine.gpus if gpu.segment in ("datacenter", "workstation")]
    ram = machine.ram_bytes or 0
    on_boards = any(not gpu.form_factor.startswith("PCIe") for gpu in professional)
    if on_boards or ram > _WORKSTATION_BYTES:
        return "server"
    if professional or len(machine.gpus) > 2 or ram > _DESKTOP_BYTES:
        return "workstation"
    return "desktop"
