"""Estimate of a model's memory at a quantization and workload, independent of the GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor
from typing import NamedTuple

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, total
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.draft import DraftEstimate, draft_estimate
from gpusizer.memory.engines import Engine, Loader, Overhead, Placement, Split
from gpusizer.memory.engines.base import (
    SHARES_FREE_MEMORY,
    FreeRule,
    all_cache_bytes,
    cache_bytes,
)
from gpusizer.memory.engines.kept_prefixes import prefix_bytes
from gpusizer.memory.quants.dynamic import banded
from gpusizer.memory.quants.table import Quant
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import HEADERS, ModelProfile

_STEPS = 100  # a share is lowered to whole hundredths, as people write it


class UsableMemory(NamedTuple):
    """Usable memory on one device that other programs use too, in bytes."""

    free_bytes: int  # memory that other programs leave
    budget_bytes: int  # memory that the engine's share allows
    utilization: float  # share of the memory to set in the engine
    refused_bytes: int = 0  # free memory that the engine lacks for a start, else 0


def room_of(
    rule: FreeRule, utilization: float, *, stated: bool, memory_bytes: int, free_bytes: int | None
) -> UsableMemory:
    """Return the usable memory of a device; all of it without `free_bytes`.

    A stated share is kept; the engine's default is lowered to one it starts with.
    """
    if free_bytes is None:
        return UsableMemory(memory_bytes, int(memory_bytes * utilization), utilization)
    # Most engines take what they need, or a share of what is free. vLLM takes a share of the total:
    # since 0.9.1 it refuses to start if less than that share is free (`request_memory`,
    # vllm/v1/worker/utils.py; issue 20305), and does not count memory of other programs
    # (`gpu_worker.py`); before, their memory is subtracted from the share
    # (`determine_available_memory` of 0.8).
    free = min(free_bytes, memory_bytes)
    if rule.kind == "share_of_free":
        return UsableMemory(free, int(free * utilization), utilization)
    if rule.kind == "others_subtracted":
        budget = int(memory_bytes * utilization) - (memory_bytes - free)
        return UsableMemory(free, max(0, budget), utilization)
    at_start = max(0, free - rule.start_bytes)
    if stated:
        refused = max(0, ceil(memory_bytes * utilization) - at_start)
        return UsableMemory(free, int(memory_bytes * utilization), utilization, refused)
    lowered = min(utilization, floor(at_start / memory_bytes * _STEPS) / _STEPS)
    return UsableMemory(free, int(memory_bytes * lowered), lowered)


class Shared(NamedTuple):
    """Amounts around an engine's share of a card."""

    held: Amount  # amounts that the share has to hold
    before: Amount  # memory that is taken off the card before the share is
    outside: Amount  # bytes on top of the share, `before` included

    def least(self, memory_bytes: int) -> float | None:
        """Return the least share, in whole hundredths, that holds the high end of every band.

        None if `before` leaves nothing of the card.
        """
        whole = memory_bytes - self.before.high
        return ceil(_STEPS * self.held.high / whole) / _STEPS if whole > 0 else None

    def taken_bytes(self, memory_bytes: int, share: float) -> int:
        """Return likely bytes in use on the card once the engine has started with a share."""
        return round(share * (memory_bytes - self.before.likely)) + self.outside.likely


# Without `slots`, because its sums, which every fit asks for, are cached properties.
@dataclass(frozen=True)
class MemoryEstimate:
    """Memory of one way to run a model."""

    quant: Quant
    engine: Engine
    native: bool  # the weights are the repository's own files
    placement: Placement  # the model on its GPUs, with the type that the cache has
    sizes: WeightSizes  # bytes of the weights by how they are read
    per_gpu: Breakdown  # the fullest GPU
    all_gpus: Breakdown  # sum over the GPUs used
    utilization: float  # share of a card's memory the engine budgets with
    left_out_bytes: int = 0  # bytes of the files that are loaded nowhere
    # The engine's rule for memory that other programs hold.
    free_rule: FreeRule = SHARES_FREE_MEMORY
    # Part of all amounts that a draft model takes; None without one.
    draft: DraftEstimate | None = None

    @property
    def split(self) -> Split:
        """Division of the model over GPUs."""
        return self.placement.split

    @property
    def device_class(self) -> int:
        """Class of cards whose engine defaults were assumed."""
        return self.placement.device_class

    @property
    def kv_dtype(self) -> str:
        """Element type of the KV cache, "auto" for the engine's 16 bits."""
        return self.placement.workload.kv_dtype

    @property
    def loaded_bytes(self) -> int:
        """Bytes of weights on GPUs and in system memory, each once."""
        return self.sizes.total - self.left_out_bytes

    @property
    def stored_bytes(self) -> int:
        """Bytes of the weights in files of this quantization, those of a draft model included."""
        return self.sizes.total + (self.draft.sizes.total if self.draft else 0)

    @property
    def host_bytes(self) -> int:
        """Bytes of weights kept in system memory."""
        # Engines that place whole layers keep those that no GPU holds; offloaded pipelines those
        # that are not on the GPU at the peak. Engines that divide matrices do not load draft layers
        # at all.
        if self.engine.split_by == "tensor":
            return 0
        guessing = self.draft.all_gpus.weights.likely if self.draft else 0
        return max(0, self.loaded_bytes - (self.all_gpus.weights.likely - guessing))

    @property
    def kv_offload_bytes(self) -> int:
        """Bytes of system memory that keep the cache of earlier prompts."""
        kind = self.engine.abilities.prefix_memory
        return prefix_bytes(kind, self.placement.workload, self.split)

    @cached_property
    def needed(self) -> Amount:
        """Sum of all amounts on the fullest GPU."""
        return self.per_gpu.total

    @cached_property
    def shared(self) -> Shared:
        """Amounts that the share of memory has to hold."""
        # A "static" share is one of what is free once the process is set up, a "free" one of what
        # is free once all but the cache is in place.
        parts, none = self.per_gpu, exactly(0, Provenance.EXACT)
        if self.engine.budget_rule == "static":
            outside = total((parts.activations, parts.overhead, parts.outside))
            return Shared(parts.weights + parts.kv_cache, parts.overhead, outside)
        if self.engine.budget_rule == "free":
            others = total((parts.weights, parts.activations, parts.overhead, parts.outside))
            return Shared(parts.kv_cache, others, others)
        inside = total((parts.weights, parts.kv_cache, parts.activations, parts.overhead))
        return Shared(inside, none, parts.outside)

    @cached_property
    def budgeted(self) -> Amount:
        """Amount that must fit into the share of memory that the engine budgets with."""
        # (memory - before) x share has to hold `held`, so memory x share has to hold `held` and
        # before x share.
        return self.shared.held + self.shared.before.scaled(self.utilization)

    def room(self, memory_bytes: int, free_bytes: int | None = None) -> UsableMemory:
        """Return the memory the engine may use on a card of `memory_bytes`."""
        return room_of(
            self.free_rule,
            self.utilization,
            stated=self.placement.workload.memory_utilization is not None,
            memory_bytes=memory_bytes,
            free_bytes=free_bytes,
        )

    def spare(self, memory_bytes: int, free_bytes: int | None = None) -> tuple[int, int]:
        """Return bytes to spare on each card, at likely values and at the high end of every band.

        They are negative if it does not fit. `free_bytes`: memory that other programs leave, None
        for all.
        """
        room, needed, budgeted = self.room(memory_bytes, free_bytes), self.needed, self.budgeted
        likely = min(room.free_bytes - needed.likely, room.budget_bytes - budgeted.likely)
        least = min(room.free_bytes - needed.high, room.budget_bytes - budgeted.high)
        if room.refused_bytes:
            return min(likely, -room.refused_bytes), min(least, -room.refused_bytes)
        return likely, least

    def pool_bytes(self, memory_bytes: int, *, free_bytes: int | None = None) -> int:
        """Return bytes that the engine gives the KV cache on each card: what its share leaves."""
        # Whether memory remains for amounts outside the share (the CUDA context, graphs that are
        # captured later) is the verdict's question: engines do not ask it here
        # (`determine_available_memory`, vllm/v1/worker/gpu_worker.py).
        budget = self.room(memory_bytes, free_bytes).budget_bytes
        return max(0, budget - self.budgeted.likely + self.per_gpu.kv_cache.likely)

    def longest_context(self, pool_bytes: int) -> int | None:
        """Return the longest sequence that a pool on each card holds, None if no cache grows."""
        draft = self.draft.placement if self.draft else None
        return self.engine.longest_context(self.placement, pool_bytes, draft)

    def bits_per_weight(self, parameters: int) -> float:
        """Return bits of weights in the files for each parameter."""
        return round(self.sizes.total * 8 / parameters, 4) if parameters else 0.0


@dataclass(frozen=True, slots=True)
class _BesideWeights:
    """Amounts of a placement that do not depend on the width of weights."""

    placement: Placement
    kv_cache: Amount
    all_cache_bytes: int
    activations: Amount
    overhead: Overhead
    draft: DraftEstimate | None


class Estimator:
    """Estimator for one model and workload; it caches shared parts."""

    def __init__(self, profile: ModelProfile, workload: Workload) -> None:
        self.profile = profile
        self.workload = workload
        self._beside: dict[tuple[str, str, Split, int], _BesideWeights] = {}
        self._loaders: dict[str, Loader] = {}

    def estimate(
        self,
        quant: Quant,
        engine: Engine,
        sizes: WeightSizes,
        split: Split,
        *,
        native: bool,
        device_class: int = 0,
    ) -> MemoryEstimate:
        """Return the memory of the model at `quant` under `engine`, divided by `split`."""
        read = native and sizes.read and self.profile.weights_basis == HEADERS
        kv_dtype = engine.cache_type(self.profile, self.workload, quant.slug, native=native)
        beside = self._beside_weights(engine, kv_dtype, split, device_class)
        placement, draft = beside.placement, beside.draft
        loaded = self._loader(engine)(sizes, placement, native=read)
        per_gpu = Breakdown(
            weights=loaded.per_gpu if native else banded(loaded.per_gpu, quant.slug, self.profile),
            kv_cache=beside.kv_cache,
            activations=engine.with_streaming(placement, sizes, beside.activations),
            overhead=beside.overhead.inside,
            outside=beside.overhead.outside,
        )
        together = loaded.all_gpus
        if not native:
            together = banded(together, quant.slug, self.profile)
        all_gpus = per_gpu.together(split.gpus, together, beside.all_cache_bytes)
        if draft is not None:
            per_gpu, all_gpus = per_gpu.plus(draft.per_gpu), all_gpus.plus(draft.all_gpus)
        return MemoryEstimate(
            quant=quant,
            engine=engine,
            native=native,
            placement=placement,
            sizes=sizes,
            per_gpu=per_gpu,
            all_gpus=all_gpus,
            utilization=engine.utilization(self.workload),
            left_out_bytes=loaded.left_out,
            free_rule=engine.free_rule(self.workload),
            draft=draft,
        )

    def _loader(self, engine: Engine) -> Loader:
        if engine.slug not in self._loaders:
            self._loaders[engine.slug] = engine.loader(self.profile, self.workload)
        return self._loaders[engine.slug]

    def _beside_weights(
        self, engine: Engine, kv_dtype: str, split: Split, device_class: int
    ) -> _BesideWeights:
        key = (engine.slug, kv_dtype, split, device_class)
        if key not in self._beside:
            typed = replace(self.workload, kv_dtype=kv_dtype)
            placement = Placement(self.profile, typed, split, device_class)
            cache = cache_bytes(engine, placement)
            self._beside[key] = _BesideWeights(
                placement=placement,
                kv_cache=exactly(cache, Provenance.DERIVED),
                all_cache_bytes=all_cache_bytes(engine, placement, cache),
                activations=engine.activations(placement),
                overhead=engine.overhead(placement),
                draft=draft_estimate(engine, placement),
            )
        return self._beside[key]
