"""vLLM behind the interface of engines."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, fitted
from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.memory.engines.abilities import stated
from gpusizer.memory.engines.bands import band
from gpusizer.memory.engines.base import (
    Engine,
    FreeRule,
    Loader,
    MemoryTotal,
    Overhead,
    Placement,
    SplitBy,
    StartLimit,
)
from gpusizer.memory.engines.vllm.activations import peak_of
from gpusizer.memory.engines.vllm.compressed_pages import CompressedCache
from gpusizer.memory.engines.vllm.dropped_models import last_releases
from gpusizer.memory.engines.vllm.graphs import graph_bytes, warmup_bytes
from gpusizer.memory.engines.vllm.loading import VllmLoader
from gpusizer.memory.engines.vllm.pages import BLOCK, Cache, cache_of
from gpusizer.memory.engines.vllm.releases import (
    CURRENT,
    VllmRelease,
    caches_honoured,
    checks_free_memory,
    is_newer,
    takes_offloading_size,
    vllm_release,
)
from gpusizer.memory.engines.vllm.runtime import (
    beside_bytes,
    context_bytes,
    non_torch_bytes,
)
from gpusizer.memory.engines.vllm.version_defaults import (
    A100_CLASS,
    DEVICE_CLASSES,
    device_class,
    in_flight_tokens,
    is_pcie,
    is_rocm,
    is_xpu,
    limits_of,
)
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

_STATES_CHECKED = (0, 20, 0)  # pull request 38270; before, fewer graphs were captured
# Share of the blocks that remains under one more flag or in another release: on 96 GB there are 939
# of Qwen3.8-27B-FP8 where the first runner guesses tokens (vllm-project/recipes pull request 831),
# 1,144 under 0.30.
_SURE = 0.8
_GRAPH_STEP = 16  # between the sizes of graphs


@dataclass(frozen=True, eq=False, kw_only=True)
class VllmEngine(Engine):
    """Reserves a share of the card at start-up and uses its remainder for the cache."""

    version: str = CURRENT
    split_by: SplitBy = "tensor"
    kv_cell_multiple: int = BLOCK
    device_classes: tuple[int, ...] = DEVICE_CLASSES
    memory_total: MemoryTotal = "torch"

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

    def refusal(self, profile: ModelProfile, workload: Workload) -> Note | None:
        last = last_releases().get(next(iter(profile.model_classes), ""))
        if last is None or not is_newer(workload.engine_version, last):
            return None
        return Note("engine_dropped_model", engine=self.name, version=last)

    def keeps_prefixes(self, workload: Workload) -> bool:
        return takes_offloading_size(workload.engine_version)

    def kv_dtype_sources(self, workload: Workload) -> tuple[str, ...]:
        return caches_honoured(workload.engine_version)

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        return VllmLoader(profile, workload, self._era(workload))

    def sequence_bytes(self, placement: Placement, context: int) -> int:
        return max((cache.bytes_at(context) for cache in self._caches(placement)), default=0)

    def start_limit(self, placement: Placement, pool_bytes: int) -> StartLimit | None:
        """Return limits that whole graphs of decoding set: a block for each recurrent state."""
        arch, workload = placement.arch, placement.workload
        if arch is None or not any(run.layer.state for run in arch.layer_plan):
            return None
        # "max_num_seqs exceeds available Mamba cache blocks" (`resolve_cudagraph_mode_and_sizes`,
        # vllm/config/compilation.py, since 0.20).
        release = self._era(workload)
        blocks = [size for cache in self._caches(placement) if (size := cache.state_block_bytes)]
        captures = not workload.enforce_eager and not is_xpu(placement.device_class)
        if not blocks or not captures or release.since < _STATES_CHECKED:
            return None
        most, asked = pool_bytes // max(blocks), limits_of(placement, release).sequences
        sure = max(1, int(most * _SURE) // _GRAPH_STEP * _GRAPH_STEP)
        return StartLimit(asked, most, sure) if asked > sure else None

    def _caches(self, placement: Placement) -> tuple[Cache | CompressedCache, ...]:
        arch, workload = placement.arch, placement.workload
        if arch is None or not arch.generates:
            return ()
        release = self._era(workload)
        return cache_of(
            arch,
            workload.kv_dtype,
            placement.split,
            in_flight_tokens(placement, release),
            release,
            workload.draft_tokens,
            own_drafts=workload.own_draft_tokens > 0,
            prefix_caching=workload.prefix_caching,
        )

    def step_tokens(self, placement: Placement) -> int | None:
        if placement.arch is None:
            return placement.workload.max_num_batched_tokens
        return limits_of(placement, self._era(placement.workload)).tokens

    def activations(self, placement: Placement) -> Amount:
        """Return max(forward, sampler), plus tensors that stay and the graphs' warm-up."""
        arch, release = placement.arch, self._era(placement.workload)
        if arch is None:
            return fitted(0.1 * GIB, 0.5 * GIB, 2 * GIB)
        limits = limits_of(placement, release)
        peak = peak_of(placement, arch, limits, release)
        warmup, eager = 0.0, placement.workload.enforce_eager
        if release.charges_warmup and not eager and not is_rocm(placement.device_class):
            warmup = warmup_bytes(arch, limits, placement.split)
        around = band(self.slug, release.family, "activations").around
        return around(peak.likely + warmup, Provenance.FITTED, lowest=peak.low)

    def overhead(self, placement: Placement) -> Overhead:
        """Return communicators inside the budget, the context outside; graphs by version."""
        release, split = self._era(placement.workload), placement.split
        device_class = placement.device_class
        likely = non_torch_bytes(split, device_class, release)
        alone = split.ranks == 1 or is_pcie(device_class) or is_xpu(device_class)
        joined = not alone and device_class >= A100_CLASS
        worst = max(likely, release.nvlink) if joined else likely
        around = band(self.slug, release.family, "non_torch").around
        inside, outside = around(likely, Provenance.FITTED, highest=worst), context_bytes()
        inside = inside + beside_bytes(device_class)
        arch = placement.arch
        if placement.workload.enforce_eager or arch is None:
            return Overhead(inside, outside)
        size = graph_bytes(placement, arch, limits_of(placement, release), release)
        graphs = band(self.slug, release.family, "graphs").around(size, Provenance.FITTED)
        if release.budgets_graphs(placement.profile) and not is_rocm(device_class):
            return Overhead(inside + graphs, outside)
        return Overhead(inside, outside + graphs)

    def notes(self, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
        """Return a note on models that the first scheduler measures otherwise."""
        if not self._era(workload).profiles_whole_prompts:
            return ()
        # The first scheduler profiled as many of the largest images as sequences (mllama: 36 GiB)
        # and held recurrent states in the peak of the profile, not in the cache.
        plan = profile.architecture.layer_plan if profile.architecture else ()
        odd = any(run.layer.state or run.layer.crosses for run in plan)
        sees = any(group.part is Part.VISION for group in profile.groups)
        if not odd and (workload.text_only or not sees):
            return ()
        return (Note("first_scheduler", version=workload.engine_version or ""),)

    def _era(self, workload: Workload) -> VllmRelease:
        return vllm_release(workload.engine_version)


VLLM = VllmEngine(**stated("vllm"))
