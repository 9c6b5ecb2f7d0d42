"""Loss of a memory estimate's quantization and of the cache type under its engine."""

from __future__ import annotations

from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.quality.estimate import quality_of
from gpusizer.quality.quality import Quality


def quality_at(estimate: MemoryEstimate) -> Quality:
    """Return the loss of the weights and of the cache type of an estimate."""
    # Some 20 microseconds, so it is not cached here; `quality.estimate` caches predictions by model
    # and recipe.
    placement = estimate.placement
    return quality_of(
        placement.profile,
        estimate.quant,
        estimate.sizes,
        native=estimate.native,
        workload=placement.workload,
        engine=estimate.engine.slug,
    )
