"""Estimates the memory of a model at a quantization and workload, independent of the GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, total
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.card_room import CardRoom, room_of
from gpusizer.memory.draft import DraftEstimate, draft_estimate
from gpusizer.memory.engines import Engine, Loaded, Loader, Split
from gpusizer.memory.engines.base import SHARES_FREE_MEMORY, FreeRule
from gpusizer.memory.quants.table import Quant
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import HEADERS, ModelProfile


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The memory of one way to run a model.

    Attributes:
        quant, engine: what is run with what.
        native: the weights are the repository's own files.
        split: GPUs and how the model is divided over them.
        sizes: bytes of the weights by how they are read.
        per_gpu: the fullest GPU.
        all_gpus: sum over the GPUs used.
        utilization: share of a card's memory the engine budgets with.
        device_class: smallest card, in bytes, whose engine defaults were assumed.
        left_out_bytes: of the files, what is loaded nowhere.
        kv_dtype: element type of the KV cache, "auto" for the engine's 16 bits.
        free_rule: what the engine makes of memory that other programs hold.
        utilization_stated: the request names `utilization`; it is not the engine's default.
        draft: what of all amounts is a second model's that guesses tokens; None without one.
    """

    quant: Quant
    engine: Engine
    native: bool
    split: Split
    sizes: WeightSizes
    per_gpu: Breakdown
    all_gpus: Breakdown
    utilization: float
    device_class: int
    kv_dtype: str
    left_out_bytes: int = 0
    free_rule: FreeRule = SHARES_FREE_MEMORY
    utilization_stated: bool = False
    draft: DraftEstimate | None = None

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

    @property
    def budgeted(self) -> Amount:
        """The amount that must fit into the share of memory that the engine budgets with.

        A "static" share is one of what is free once the process is set up: (memory - set-up) x
        share holds weights and cache, which is to say memory x share holds them and set-up x share.
        """
        parts = self.per_gpu
        if self.engine.budget_rule == "static":
            setup = parts.overhead.scaled(self.utilization)
            return total((parts.weights, parts.kv_cache, setup))
        if self.engine.budget_rule == "free":
            other_amounts = total((parts.weights, parts.activations, parts.overhead, parts.outside))
            return parts.kv_cache + other_amounts.scaled(self.utilization)
        return total((parts.weights, parts.kv_cache, parts.activations, parts.overhead))

    def room(self, memory_bytes: int, free_bytes: int | None = None) -> CardRoom:
        """What the engine may use of a card of that memory, of which `free_bytes` are free."""
        return room_of(
            self.free_rule,
            self.utilization,
            stated=self.utilization_stated,
            memory_bytes=memory_bytes,
            free_bytes=free_bytes,
        )

    def headroom_bytes(
        self, memory_bytes: int, *, free_bytes: int | None = None, cautious: bool = False
    ) -> int:
        """Bytes to spare on each card of that memory; negative when it does not fit.

        `free_bytes`: what other programs leave of it, None for all. `cautious` counts with the
        high end of every band.
        """
        everything, budgeted = self.per_gpu.total, self.budgeted
        need, inside = (
            (everything.high, budgeted.high) if cautious else (everything.likely, budgeted.likely)
        )
        room = self.room(memory_bytes, free_bytes)
        spare = min(room.free_bytes - need, room.budget_bytes - inside)
        return min(spare, -room.refused_bytes) if room.refused_bytes else spare

    def pool_bytes(self, memory_bytes: int, *, free_bytes: int | None = None) -> int:
        """Bytes that the engine gives the KV cache on each card: what its share leaves.

        Whether there is room beside it for what is outside the share (the CUDA context, graphs
        that are captured later) is the verdict's question: engines do not ask it here
        (`determine_available_memory`, vllm/v1/worker/gpu_worker.py).
        """
        budget = self.room(memory_bytes, free_bytes).budget_bytes
        return max(0, budget - self.budgeted.likely + self.per_gpu.kv_cache.likely)

    def bits_per_weight(self, parameters: int) -> float:
        """Bits of weights in the files for each parameter."""
        return round(self.sizes.total * 8 / parameters, 4) if parameters else 0.0


class Estimator:
    """Makes estimates for one model and workload; caches the parts that they share."""

    def __init__(self, profile: ModelProfile, workload: Workload) -> None:
        self.profile = profile
        self.workload = workload
        self._kv: dict[tuple[str, str, Split, int], int] = {}
        self._runtime: dict[tuple[str, str, Split, int], tuple[Amount, Amount, Amount]] = {}
        self._drafts: dict[tuple[str, str, Split, int], DraftEstimate | None] = {}
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
        loaded = self._loader(engine)(sizes, split, device_class, native=read)
        kv_dtype = engine.cache_type(self.profile, self.workload, quant.slug, native=native)
        activations, inside, outside = self._runtime_amounts(engine, kv_dtype, split, device_class)
        cache = self._kv_per_gpu(engine, kv_dtype, split, device_class)
        per_gpu = Breakdown(
            weights=loaded.per_gpu,
            kv_cache=exactly(cache, Provenance.DERIVED),
            activations=engine.with_streaming(self.profile, self.workload, sizes, activations),
            overhead=inside,
            outside=outside,
        )
        all_gpus = self._sum(per_gpu, loaded, engine, kv_dtype, split, device_class)
        draft = self._draft(engine, kv_dtype, split, device_class)
        if draft is not None:
            per_gpu, all_gpus = per_gpu.plus(draft.per_gpu), all_gpus.plus(draft.all_gpus)
        return MemoryEstimate(
            quant=quant,
            engine=engine,
            native=native,
            split=split,
            sizes=sizes,
            per_gpu=per_gpu,
            all_gpus=all_gpus,
            utilization=engine.utilization(self.workload),
            device_class=device_class,
            left_out_bytes=loaded.left_out,
            kv_dtype=kv_dtype,
            free_rule=engine.free_rule(self.workload),
            utilization_stated=self.workload.memory_utilization is not None,
            draft=draft,
        )

    def _draft(
        self, engine: Engine, kv_dtype: str, split: Split, device_class: int
    ) -> DraftEstimate | None:
        key = (engine.slug, kv_dtype, split, device_class)
        if key not in self._drafts:
            self._drafts[key] = draft_estimate(
                self.profile, self.workload, engine, split, device_class, kv_dtype
            )
        return self._drafts[key]

    def _loader(self, engine: Engine) -> Loader:
        if engine.slug not in self._loaders:
            self._loaders[engine.slug] = engine.loader(self.profile, self.workload)
        return self._loaders[engine.slug]

    def _typed(self, kv_dtype: str) -> Workload:
        """The workload with the type that the cache has."""
        if kv_dtype == self.workload.kv_dtype:
            return self.workload
        return replace(self.workload, kv_dtype=kv_dtype)

    def _kv_per_gpu(self, engine: Engine, kv_dtype: str, split: Split, device_class: int) -> int:
        key = (engine.slug, kv_dtype, split, device_class)
        if key not in self._kv:
            sequence_bytes = engine.sequence_bytes(
                self.profile.architecture,
                self._typed(kv_dtype),
                split,
                device_class,
                self.workload.context,
            )
            self._kv[key] = sequence_bytes * split.users_each(self.workload.concurrency)
        return self._kv[key]

    def _runtime_amounts(
        self, engine: Engine, kv_dtype: str, split: Split, device_class: int
    ) -> tuple[Amount, Amount, Amount]:
        key = (engine.slug, kv_dtype, split, device_class)
        if key not in self._runtime:
            workload = self._typed(kv_dtype)
            overhead = engine.overhead(self.profile, workload, split, device_class)
            activations = engine.activations(self.profile, workload, split, device_class)
            self._runtime[key] = (activations, overhead.inside, overhead.outside)
        return self._runtime[key]

    def _sum(
        self,
        per_gpu: Breakdown,
        loaded: Loaded,
        engine: Engine,
        kv_dtype: str,
        split: Split,
        device_class: int,
    ) -> Breakdown:
        """Totals: weights as loaded, cache of a layer split, the fullest GPU times n otherwise."""
        if split.gpus == 1:
            return per_gpu
        kv = per_gpu.kv_cache.likely * split.gpus
        if split.ranks == 1:
            kv = min(kv, self._kv_per_gpu(engine, kv_dtype, Split(), device_class))
        several = per_gpu.times(split.gpus)
        return Breakdown(
            weights=loaded.all_gpus,
            kv_cache=exactly(kv, Provenance.DERIVED),
            activations=several.activations,
            overhead=several.overhead,
            outside=several.outside,
        )
