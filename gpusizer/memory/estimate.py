"""Estimates the memory of a model at a quantization and workload, independent of the GPU."""

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
from gpusizer.memory.quants.dynamic import banded
from gpusizer.memory.quants.table import Quant
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import HEADERS, ModelProfile

_STEPS = 100  # a share is lowered to whole hundredths, as people write it


class CardRoom(NamedTuple):
    """Room on one device of which other programs hold a part, in bytes.

    Most engines take what they need, or a share of what is free. vLLM takes a share of the total:

    - since 0.9.1 it refuses to start where less is free than that share (`request_memory`,
      vllm/v1/worker/utils.py; issue 20305), and does not count what others hold (`gpu_worker.py`);
    - before, what others hold is subtracted from the share (`determine_available_memory` of 0.8).

    Attributes:
        free_bytes: what other programs leave.
        budget_bytes: what the engine's share allows.
        utilization: that share of the memory, as the engine has to be told.
        refused_bytes: by how much too little is free for the engine to start, else 0.
    """

    free_bytes: int
    budget_bytes: int
    utilization: float
    refused_bytes: int = 0


def room_of(
    rule: FreeRule, utilization: float, *, stated: bool, memory_bytes: int, free_bytes: int | None
) -> CardRoom:
    """The room on a device of that memory; `free_bytes` is None where nobody said what is free.

    A share that the request states is kept; the engine's own default is lowered to what it starts
    with.
    """
    if free_bytes is None:
        return CardRoom(memory_bytes, int(memory_bytes * utilization), utilization)
    free = min(free_bytes, memory_bytes)
    if rule.kind == "share_of_free":
        return CardRoom(free, int(free * utilization), utilization)
    if rule.kind == "others_subtracted":
        budget = int(memory_bytes * utilization) - (memory_bytes - free)
        return CardRoom(free, max(0, budget), utilization)
    at_start = max(0, free - rule.start_bytes)
    if stated:
        refused = max(0, ceil(memory_bytes * utilization) - at_start)
        return CardRoom(free, int(memory_bytes * utilization), utilization, refused)
    lowered = min(utilization, floor(at_start / memory_bytes * _STEPS) / _STEPS)
    return CardRoom(free, int(memory_bytes * lowered), lowered)


class Shared(NamedTuple):
    """What an engine's share of a card is a share of, and what it holds.

    Attributes:
        held: amounts that the share has to hold.
        before: what is taken off the card before the share is.
        outside: bytes that come on top of the share, what is taken off before it among them.
    """

    held: Amount
    before: Amount
    outside: Amount

    def least(self, memory_bytes: int) -> float | None:
        """The least share, in whole hundredths, that holds it at the high end of every band; None
        where nothing of the card is left to take a share of."""
        whole = memory_bytes - self.before.high
        return ceil(_STEPS * self.held.high / whole) / _STEPS if whole > 0 else None

    def taken_bytes(self, memory_bytes: int, share: float) -> int:
        """Likely bytes of the card that are in use once the engine has started with a share."""
        return round(share * (memory_bytes - self.before.likely)) + self.outside.likely


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory of one way to run a model.

    Without `slots`, because its sums, which every fit asks for, are cached properties.

    Attributes:
        quant, engine: what is run with what.
        native: the weights are the repository's own files.
        placement: the model on its GPUs, with the type that the cache has.
        sizes: bytes of the weights by how they are read.
        per_gpu: the fullest GPU.
        all_gpus: sum over the GPUs used.
        utilization: share of a card's memory the engine budgets with.
        left_out_bytes: of the files, what is loaded nowhere.
        free_rule: what the engine makes of memory that other programs hold.
        draft: what of all amounts is a second model's that guesses tokens; None without one.
    """

    quant: Quant
    engine: Engine
    native: bool
    placement: Placement
    sizes: WeightSizes
    per_gpu: Breakdown
    all_gpus: Breakdown
    utilization: float
    left_out_bytes: int = 0
    free_rule: FreeRule = SHARES_FREE_MEMORY
    draft: DraftEstimate | None = None

    @property
    def split(self) -> Split:
        """GPUs and how the model is divided over them."""
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
        """Bytes of weights kept in system memory.

        Of engines that place whole layers, those that no GPU holds; of offloaded pipelines, those
        that are not on the GPU at the peak; 0 for engines that divide matrices, which do not load
        draft layers at all.
        """
        if self.engine.split_by == "tensor":
            return 0
        guessing = self.draft.all_gpus.weights.likely if self.draft else 0
        return max(0, self.loaded_bytes - (self.all_gpus.weights.likely - guessing))

    @cached_property
    def needed(self) -> Amount:
        """Everything on the fullest GPU."""
        return self.per_gpu.total

    @cached_property
    def shared(self) -> Shared:
        """What the share of memory that the engine budgets with has to hold.

        A "static" share is one of what is free once the process is set up, a "free" one of what is
        free once all but the cache is in place.
        """
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
        """The amount that must fit into the share of memory that the engine budgets with.

        (memory - before) x share holds what the share has to hold, which is to say memory x share
        holds it and before x share.
        """
        return self.shared.held + self.shared.before.scaled(self.utilization)

    def room(self, memory_bytes: int, free_bytes: int | None = None) -> CardRoom:
        """What the engine may use of a card of that memory, of which `free_bytes` are free."""
        return room_of(
            self.free_rule,
            self.utilization,
            stated=self.placement.workload.memory_utilization is not None,
            memory_bytes=memory_bytes,
            free_bytes=free_bytes,
        )

    def spare(self, memory_bytes: int, free_bytes: int | None = None) -> tuple[int, int]:
        """Bytes to spare on each card of that memory: at the likely values, and at the high end of
        every band; negative when it does not fit.

        `free_bytes`: what other programs leave of it, None for all.
        """
        room, needed, budgeted = self.room(memory_bytes, free_bytes), self.needed, self.budgeted
        likely = min(room.free_bytes - needed.likely, room.budget_bytes - budgeted.likely)
        least = min(room.free_bytes - needed.high, room.budget_bytes - budgeted.high)
        if room.refused_bytes:
            return min(likely, -room.refused_bytes), min(least, -room.refused_bytes)
        return likely, least

    def pool_bytes(self, memory_bytes: int, *, free_bytes: int | None = None) -> int:
        """Bytes that the engine gives the KV cache on each card: what its share leaves.

        Whether there is room beside it for what is outside the share (the CUDA context, graphs
        that are captured later) is the verdict's question: engines do not ask it here
        (`determine_available_memory`, vllm/v1/worker/gpu_worker.py).
        """
        budget = self.room(memory_bytes, free_bytes).budget_bytes
        return max(0, budget - self.budgeted.likely + self.per_gpu.kv_cache.likely)

    def longest_context(self, pool_bytes: int) -> int | None:
        """Longest sequence whose cache such a pool on each card holds, None where none grows."""
        draft = self.draft.placement if self.draft else None
        return self.engine.longest_context(self.placement, pool_bytes, draft)

    def bits_per_weight(self, parameters: int) -> float:
        """Bits of weights in the files for each parameter."""
        return round(self.sizes.total * 8 / parameters, 4) if parameters else 0.0


@dataclass(frozen=True, slots=True)
class _BesideWeights:
    """What a placement takes beside the weights, whatever their width."""

    placement: Placement
    kv_cache: Amount
    all_cache_bytes: int
    activations: Amount
    overhead: Overhead
    draft: DraftEstimate | None


class Estimator:
    """Makes estimates for one model and workload; caches the parts that they share."""

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
        """Memory of the model at `quant` under `engine`, divided by `split`."""
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
