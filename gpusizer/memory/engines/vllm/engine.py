"""vLLM behind the interface of engines."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.bands import band
from gpusizer.memory.engines.base import (
    BudgetRule,
    FreeRule,
    Loader,
    MemoryTotal,
    Overhead,
    Split,
    SplitBy,
)
from gpusizer.memory.engines.cache_types import resolved_type
from gpusizer.memory.engines.defaults import Defaults
from gpusizer.memory.engines.vllm.activations import peak_of
from gpusizer.memory.engines.vllm.eras import (
    CURRENT,
    Era,
    caches_honoured,
    checks_free_memory,
    era_of,
)
from gpusizer.memory.engines.vllm.loading import VllmLoader
from gpusizer.memory.engines.vllm.pages import BLOCK, cache_of
from gpusizer.memory.engines.vllm.runtime import (
    beside_bytes,
    context_bytes,
    graph_bytes,
    non_torch_bytes,
    warmup_bytes,
)
from gpusizer.memory.engines.vllm.version_defaults import (
    A100_CLASS,
    DEVICE_CLASSES,
    device_class,
    is_pcie,
    is_rocm,
    limits_of,
)
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile


@dataclass(frozen=True, slots=True)
class VllmEngine(Defaults):
    """Reserves a share of the card at start-up and uses its remainder for the cache."""

    slug: str = "vllm"
    name: str = "vLLM"
    version: str = CURRENT
    versioned: bool = True
    stacks: frozenset[str] = frozenset({"CUDA", "ROCm", "oneAPI", "CANN", "SynapseAI"})
    split_by: SplitBy = "tensor"
    kv_cell_multiple: int = BLOCK
    device_classes: tuple[int, ...] = DEVICE_CLASSES
    budget_rule: BudgetRule = "whole"
    memory_total: MemoryTotal = "torch"  # MemorySnapshot, vllm/utils/mem_utils.py

    def device_class(
        self, memory_bytes: int, name: str, stack: str = "CUDA", *, fabric: bool = True
    ) -> int:
        return device_class(memory_bytes, name, stack, fabric=fabric)

    def utilization(self, workload: Workload) -> float:
        return workload.memory_utilization or self._era(workload).utilization

    def free_rule(self, workload: Workload) -> FreeRule:
        if not checks_free_memory(workload.engine_version):
            return FreeRule("others_subtracted")
        return FreeRule("checked_at_start", context_bytes().high)

    def cache_type(
        self, profile: ModelProfile, workload: Workload, quant: str, *, native: bool
    ) -> str:
        honoured = caches_honoured(workload.engine_version)
        return resolved_type(profile, workload, quant, native=native, honoured=honoured)

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        return VllmLoader(profile, workload, self._era(workload))

    def sequence_bytes(
        self,
        arch: Architecture | None,
        workload: Workload,
        split: Split,
        device_class: int,
        context: int,
    ) -> int:
        if arch is None or not arch.generates:
            return 0
        era = self._era(workload)
        tokens = limits_of(workload, arch, device_class, era).tokens
        caches = cache_of(
            arch,
            workload.kv_dtype,
            split,
            tokens,
            era,
            workload.draft_tokens,
            own_drafts=workload.own_draft_tokens > 0,
            prefix_caching=workload.prefix_caching,
        )
        return max(cache.bytes_at(context) for cache in caches)

    def step_tokens(
        self, arch: Architecture | None, workload: Workload, device_class: int
    ) -> int | None:
        if arch is None:
            return workload.max_num_batched_tokens
        return limits_of(workload, arch, device_class, self._era(workload)).tokens

    def activations(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Amount:
        """max(forward, sampler), plus what stays allocated beside both, and what the profile of
        graphs counts of a warm-up."""
        arch = profile.architecture
        if arch is None:
            return fitted(0.1 * GIB, 0.5 * GIB, 2 * GIB)
        era = self._era(workload)
        limits = limits_of(workload, arch, device_class, era, split.data)
        wide = workload.kv_dtype in ("f32", "fp32", "float32")
        peak = peak_of(
            profile,
            arch,
            limits,
            split,
            era,
            wide=wide,
            text_only=workload.text_only,
            sampler=workload.sampler,
        )
        warmup = 0.0
        if era.charges_warmup and not workload.enforce_eager and not is_rocm(device_class):
            warmup = warmup_bytes(arch, limits, split)
        around = band(self.slug, era.family, "activations").around
        return around(peak.likely + warmup, Provenance.FITTED, lowest=peak.low)

    def overhead(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Overhead:
        """Communicators inside the budget, the context outside; graphs by version."""
        era = self._era(workload)
        likely = non_torch_bytes(split, device_class, era)
        joined = split.ranks > 1 and not is_pcie(device_class) and device_class >= A100_CLASS
        worst = max(likely, era.nvlink) if joined else likely
        around = band(self.slug, era.family, "non_torch").around
        inside, outside = around(likely, Provenance.FITTED, highest=worst), context_bytes()
        inside = inside + beside_bytes(device_class)
        arch = profile.architecture
        if workload.enforce_eager or arch is None:
            return Overhead(inside, outside)
        limits = limits_of(workload, arch, device_class, era, split.data)
        size = graph_bytes(arch, limits, split, era, device_class)
        graphs = band(self.slug, era.family, "graphs").around(size, Provenance.FITTED)
        if era.budgets_graphs(arch) and not is_rocm(device_class):
            return Overhead(inside + graphs, outside)
        return Overhead(inside, outside + graphs)

    def _era(self, workload: Workload) -> Era:
        return era_of(workload.engine_version)


VLLM = VllmEngine()
