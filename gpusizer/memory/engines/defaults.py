"""Default rules of engines for weights and cache, which engine classes override."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from gpusizer.core.byte_ranges import Amount, Provenance, exactly
from gpusizer.core.messages import Note
from gpusizer.memory.engines.base import (
    SHARES_FREE_MEMORY,
    BudgetRule,
    FreeRule,
    Loaded,
    Loader,
    MemoryTotal,
    Placement,
    Split,
)
from gpusizer.memory.kv_cache import NO_LIMIT, grows, kv_cache_bytes
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile


class Defaults:
    """Weights as stored, matrices divided evenly; whole layers per pipeline stage."""

    __slots__ = ()

    kv_cell_multiple: int
    device_classes: tuple[int, ...]

    @property
    def budget_rule(self) -> BudgetRule:
        return "whole"

    @property
    def memory_total(self) -> MemoryTotal:
        return "driver"

    def device_class(
        self, memory_bytes: int, name: str, stack: str = "CUDA", *, fabric: bool = True
    ) -> int:
        return max(size for size in self.device_classes if size <= memory_bytes)

    def backend_class(self, stack: str) -> int | None:
        return None

    def free_rule(self, workload: Workload) -> FreeRule:
        return SHARES_FREE_MEMORY

    def notes(self, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
        return ()

    def step_tokens(self, placement: Placement) -> int | None:
        return None

    def with_streaming(self, placement: Placement, sizes: WeightSizes, usual: Amount) -> Amount:
        return usual

    def cache_type(
        self, profile: ModelProfile, workload: Workload, quant: str, *, native: bool
    ) -> str:
        return workload.kv_dtype

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        layers = profile.architecture.layers if profile.architecture else 1

        def load(sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded:
            split = placement.split
            provenance = Provenance.EXACT if native else Provenance.DERIVED
            copies = sizes.total + sizes.replicated * (split.tensor - 1)
            fullest = exactly(even_share(sizes, split, layers), provenance)
            return Loaded(fullest, exactly(copies, provenance))

        return load

    def sequence_bytes(self, placement: Placement, context: int) -> int:
        arch, split = placement.arch, placement.split
        if arch is None:
            return 0
        in_layers = kv_cache_bytes(
            arch,
            context,
            1,
            placement.workload.kv_dtype,
            shards=split.tensor,
            cell_multiple=self.kv_cell_multiple,
        )
        return stage_share(in_layers, arch.layers, split)

    def longest_context(
        self, placement: Placement, pool_bytes: int, draft: Placement | None = None
    ) -> int | None:
        arch = placement.arch
        if arch is None or (draft is None and not grows(arch)):
            return None

        def needed(context: int) -> int:
            of_draft = 0 if draft is None else self.sequence_bytes(draft, context)
            return self.sequence_bytes(placement, context) + of_draft

        limit = arch.max_context or NO_LIMIT
        if needed(limit) <= pool_bytes:
            return limit
        return max(0, bisect_right(range(limit + 1), pool_bytes, key=needed) - 1)


def stage_share(in_layers: int, layers: int, split: Split) -> int:
    """Part of an amount spread evenly over layers that the longest pipeline stage holds."""
    return -(-in_layers * -(-layers // split.pipeline) // layers)


def even_share(sizes: WeightSizes, split: Split, layers: int) -> int:
    """The fullest GPU: whole layers of a pipeline stage, a share of each matrix."""
    stage = stage_share(sizes.in_layers, layers, split) + sizes.total - sizes.in_layers
    if split.tensor == 1 or not sizes.total:
        return stage
    divided = stage * sizes.divided // sizes.total
    return stage - divided + -(-divided // split.tensor)


_AUTO = "auto"


def resolved_type(
    profile: ModelProfile,
    workload: Workload,
    quant: str,
    *,
    native: bool,
    honoured: Collection[str],
) -> str:
    """The type asked for; for "auto" FP8 where the checkpoint says so, or the activations' type.

    `honoured`: tools whose word about the cache the engine takes (`StoredQuantization.fp8_cache`);
    only the checkpoint as stored has one. Weights in FP32 have an FP32 cache: PyTorch's engines
    keep it in the type that the model computes in.
    """
    if workload.kv_dtype != _AUTO:
        return workload.kv_dtype
    stored = profile.quantization
    if native and stored is not None and stored.fp8_cache in honoured:
        return "fp8"
    return "f32" if quant == "fp32" else _AUTO
