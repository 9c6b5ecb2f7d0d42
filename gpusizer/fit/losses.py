"""What the quantization of a memory estimate loses, with the cache that its engine gives it."""

from __future__ import annotations

from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.quality.estimate import quality_of
from gpusizer.quality.quality import Quality


def quality_at(estimate: MemoryEstimate) -> Quality:
    """The loss of the weights at this quantization and of the type that the cache has there.

    Computed where it is shown, some 20 microseconds each: predictions are remembered by model
    and recipe (`quality.estimate`).
    """
    placement = estimate.placement
    return quality_of(
        placement.profile,
        estimate.quant,
        estimate.sizes,
        native=estimate.native,
        workload=placement.workload,
        engine=estimate.engine.slug,
    )
