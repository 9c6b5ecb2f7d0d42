"""Bytes of a model on each device and in system memory, for one arrangement.

Follows llama.cpp (engines/llama_layers.py): layers and output are placed in runs over the devices,
the input embedding on the host, and with --n-cpu-moe also routed experts of the first layers.
Memory is never pooled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted, total
from gpusizer.fit.machine import Machine
from gpusizer.memory.engines import Engine, Placement, Split
from gpusizer.memory.engines.llama_cpp import METAL
from gpusizer.memory.engines.llama_layers import (
    LayerBytes,
    Stage,
    cache_per_layer,
    layer_bytes,
    shared_stages,
    ubatch,
)
from gpusizer.memory.engines.llama_versions import BUILDS, rules_of
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.kv_cache import STEPS
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

_F32 = 4


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Placement of a model's layers."""

    # proportions in which layers are dealt out to the devices (--tensor-split)
    split: tuple[int, ...]
    gpu_layers: int  # layers on devices, the output counted as one (-ngl)
    # number of first layers whose routed experts stay on the host (--n-cpu-moe)
    cpu_experts: int = 0


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """Memory on one device, or in system memory."""

    weights: Amount
    kv_cache: Amount
    activations: Amount
    overhead: Amount
    layers: int
    output: bool

    @property
    def total(self) -> Amount:
        return total((self.weights, self.kv_cache, self.activations, self.overhead))


@dataclass(frozen=True)
class Load:
    """One model, quantization and workload, to be arranged on a machine."""

    # No `slots`, because the sums over layers are cached properties.
    profile: ModelProfile
    workload: Workload
    machine: Machine
    engine: Engine
    estimate: MemoryEstimate

    @cached_property
    def layers(self) -> int:
        arch = self.profile.architecture
        assert arch is not None  # only models with layers are arranged
        return arch.layers

    @cached_property
    def parts(self) -> LayerBytes:
        return layer_bytes(
            self.profile, self.estimate.sizes, self.layers, text_only=self.workload.text_only
        )

    @cached_property
    def _cache(self) -> tuple[int, ...]:
        # Cumulative cache of all sequences before each layer, in 32nds of a byte.
        arch = self.profile.architecture
        assert arch is not None
        if not arch.generates:
            return (0,) * (self.layers + 1)
        rules = rules_of(self.workload.engine_version, BUILDS)
        per_sequence = cache_per_layer(arch, self.workload, rules, self.workload.context)
        per_layer = [amount * self.workload.concurrency for amount in per_sequence[: self.layers]]
        return tuple(accumulate(per_layer, initial=0))

    def weights_on(self, number: int, stage: Stage, cpu_experts: int) -> int:
        """Return bytes of weights on device `number`, which holds `stage`."""
        parts = self.parts
        amount = parts.layers[stage.end] - parts.layers[stage.first]
        last = min(max(stage.first, cpu_experts), stage.end)
        amount -= parts.experts[last] - parts.experts[stage.first]
        amount += parts.output * stage.output + parts.tower * (number == 0)
        maps_file = self.machine.device_class == METAL
        return amount + parts.embedding * (maps_file and number == 0)

    def cache_on(self, first: int, end: int) -> int:
        """Return bytes of cache in layers `first` up to `end`."""
        return -(-(self._cache[end] - self._cache[first]) // STEPS)

    @cached_property
    def _beside(self) -> dict[tuple[bool, int, bool], tuple[Amount, Amount]]:
        return {}

    def beside(self, number: int, gpu_layers: int, cpu_experts: int) -> tuple[Amount, Amount]:
        """Return compute buffers and runtime memory of a device."""
        # Copies of host weights pass through the first device.
        key = (number == 0, gpu_layers, cpu_experts > 0)
        if key not in self._beside:
            self._beside[key] = self._buffers(*key)
        return self._beside[key]

    def _buffers(self, first: bool, gpu_layers: int, cpu_experts: bool) -> tuple[Amount, Amount]:
        whole = gpu_layers > self.layers
        workload = replace(
            self.workload,
            gpu_layers=None if whole else gpu_layers,
            cpu_moe=cpu_experts,
        )
        devices = Split(pipeline=max(1, len(self.machine.gpus)))
        placement = Placement(self.profile, workload, devices, self.machine.device_class)
        buffers = self.engine.activations(placement)
        if first:
            buffers = self.engine.with_streaming(placement, self.estimate.sizes, buffers)
        return buffers, self.engine.overhead(placement).inside

    def shares(self, arrangement: Arrangement) -> tuple[DeviceShare, ...]:
        """Return the memory on every device."""
        if not arrangement.gpu_layers:
            return ()
        stages = shared_stages(self.layers, arrangement.gpu_layers, arrangement.split)
        provenance = Provenance.EXACT if self.estimate.native else Provenance.DERIVED
        shares = []
        for number, stage in enumerate(stages):
            buffers, runtime = self.beside(number, arrangement.gpu_layers, arrangement.cpu_experts)
            shares.append(
                DeviceShare(
                    exactly(self.weights_on(number, stage, arrangement.cpu_experts), provenance),
                    exactly(self.cache_on(stage.first, stage.end), Provenance.DERIVED),
                    buffers,
                    runtime,
                    stage.end - stage.first,
                    stage.output,
                )
            )
        return tuple(shares)

    def host(self, arrangement: Arrangement) -> DeviceShare:
        """Return the share of system memory: the other weights, their cache, inputs and results."""
        stages = (
            shared_stages(self.layers, arrangement.gpu_layers, arrangement.split)
            if arrangement.gpu_layers
            else ()
        )
        on_gpus = sum(self.weights_on(n, s, arrangement.cpu_experts) for n, s in enumerate(stages))
        below = min(self.layers, self.layers + 1 - arrangement.gpu_layers)
        provenance = Provenance.EXACT if self.estimate.native else Provenance.DERIVED
        return DeviceShare(
            exactly(self.estimate.loaded_bytes - on_gpus, provenance),
            exactly(self.cache_on(0, below), Provenance.DERIVED),
            self._host_buffers(alone=not arrangement.gpu_layers),
            fitted(0, 0, 0),
            below,
            not arrangement.gpu_layers,
        )

    def _host_buffers(self, *, alone: bool) -> Amount:
        # Mask and one to two hidden states of a batch, logits of every sequence; all compute
        # buffers if the CPU computes everything. (research on llama.cpp's logs: "Host")
        arch = self.profile.architecture
        assert arch is not None
        batch, hidden = ubatch(self.workload), arch.hidden_size or 0
        mask = self.workload.context * batch * _F32
        results = (arch.vocab_size or 0) * self.workload.concurrency * _F32
        buffers = fitted(
            mask,
            mask + 2 * hidden * batch * _F32 + results,
            2 * (mask + 2 * hidden * batch * _F32) + results,
        )
        if not alone:
            return buffers
        computed = self.engine.activations(Placement(self.profile, self.workload))
        return buffers + computed
