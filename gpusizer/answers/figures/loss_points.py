"""Loss against memory: one point for each quantization, and the smallest that loses little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.answers.report import EstimateRow
from gpusizer.fit.losses import quality_at
from gpusizer.quality.quality import Quality
from gpusizer.quality.words import LossWord


@dataclass(frozen=True, slots=True)
class LossPoint:
    """One quantization: its likely bytes over all GPUs used and what it loses.

    Attributes:
        detail: the engine.
        knee: it is the smallest whose loss is still small.
    """

    label: str
    detail: str
    total_bytes: int
    quality: Quality
    knee: bool = False


def loss_points(rows: Sequence[EstimateRow]) -> tuple[LossPoint, ...]:
    """The quantizations that the weights can still get, none larger than these; least bytes first.

    Equal loss and fewer bytes are better, so that what is wider than the checkpoint only costs.
    """
    stored = [row.estimate.sizes.total for row in rows if row.estimate.native]
    points = [
        (row.estimate.all_gpus.total.likely, row.estimate)
        for row in rows
        if not row.needs_original_weights
        and (not stored or row.estimate.sizes.total <= max(stored))
    ]
    points.sort(key=lambda point: point[0])
    qualities = [quality_at(estimate) for _, estimate in points]
    little = [i for i, each in enumerate(qualities) if each.word.rank <= LossWord.SMALL.rank]
    knee = little[0] if little else None
    return tuple(
        LossPoint(estimate.quant.name, estimate.engine.name, total, quality, i == knee)
        for i, ((total, estimate), quality) in enumerate(zip(points, qualities, strict=True))
    )
