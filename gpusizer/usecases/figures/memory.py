"""Memory in pictures: parts by quantization, totals along the context, capacity of GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.losses import quality_at
from gpusizer.fit.study import Study
from gpusizer.gpus import Gpu
from gpusizer.quality.quality import LossWord, Quality
from gpusizer.usecases.figures.speeds import place_name
from gpusizer.usecases.report import EstimateRow

# slugs for 8 and 4 bits, best known first
_LEVELS = (
    ("q8_0", "fp8", "int8", "mlx-8bit"),
    ("q4_k_m", "awq-int4-g128", "gptq-int4-g128", "nvfp4", "mxfp4", "mlx-4bit"),
)
_EIGHTHS = 8
_HALVINGS = 7  # below an eighth of the context, where windows and buffers bend a line
_UNKNOWN_LONGEST = 4  # times the context asked for, where no model says its longest


def few_levels(rows: Sequence[EstimateRow]) -> list[EstimateRow]:
    """Return the checkpoint as stored and the best known narrower 8 and 4 bits."""
    chosen = [row for row in rows if row.estimate.native][:1]
    for slugs in _LEVELS:
        rows_by_slug = {
            row.estimate.quant.slug: row for row in rows if not row.needs_original_weights
        }
        row = next((rows_by_slug[slug] for slug in slugs if slug in rows_by_slug), None)
        narrower = row is not None and all(
            row.estimate.quant.bits < row_chosen.estimate.quant.bits for row_chosen in chosen
        )
        if row is not None and narrower:
            chosen.append(row)
    return chosen or list(rows[:1])


def context_points(longest: int) -> tuple[int, ...]:
    """Return contexts at which a curve is computed: eighths, and halvings of the first eighth.

    >>> context_points(2048)
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1792, 2048)
    """
    eighths = {longest * step // _EIGHTHS for step in range(1, _EIGHTHS + 1)}
    halvings = {longest // _EIGHTHS >> step for step in range(1, _HALVINGS + 1)}
    return tuple(sorted({1, *eighths, *halvings} - {0}))


def context_curves(study: Study, rows: Sequence[EstimateRow]) -> tuple[Curve, ...]:
    """Return likely total bytes of each row along the context, estimated at every point.

    Empty for models without a context, such as pipelines that make pictures.
    """
    if not _has_context(study) or not rows:
        return ()
    longest = study.profile.max_context or study.workload.context * _UNKNOWN_LONGEST
    studies = {tokens: study.with_workload(context=tokens) for tokens in context_points(longest)}
    return tuple(
        Curve(
            tuple(
                Point(tokens, at.reestimate(row.estimate).all_gpus.total.likely)
                for tokens, at in studies.items()
            ),
            row.estimate.quant.name,
            row.estimate.engine.name,
        )
        for row in rows
    )


def place_curves(places: Sequence[Ranked]) -> tuple[Curve, ...]:
    """Return bytes on each GPU of a place at the high end, for one user, along the context.

    A curve ends at the longest context that surely fits, as in tables. Places that hold only a part
    of the model have no curve.
    """
    return tuple(
        Curve(points, label, place.fit.estimate.quant.name)
        for label, place in {place_name(place): place for place in places}.items()
        if (points := _points_of(place))
    )


def _points_of(place: Ranked) -> tuple[Point, ...]:
    study, fit, longest = place.limits.study, place.fit, place.longest_context
    if not longest or not fit.verdict.all_on_gpu or fit.config.arranged is not None:
        return ()
    if not _has_context(study):
        return ()
    return tuple(
        Point(tokens, at.reestimate(fit.estimate).needed.high)
        for tokens in context_points(longest)
        for at in (study.with_workload(context=tokens, concurrency=1),)
    )


def _has_context(study: Study) -> bool:
    return study.profile.architecture is not None and study.profile.format != "diffusers"


def capacities(boards: Iterable[tuple[Gpu, int]]) -> tuple[Capacity, ...]:
    """Return usable memory of GPUs for their numbers of boards."""
    return tuple(
        Capacity(
            f"{count} × {gpu.name}" if count > 1 else gpu.name,
            gpu.device_free_bytes * gpu.devices_per_board * count,
        )
        for gpu, count in boards
    )


@dataclass(frozen=True, slots=True)
class LossPoint:
    """One quantization: its likely bytes over all GPUs, and its loss."""

    label: str
    detail: str  # the engine
    total_bytes: int
    quality: Quality
    knee: bool = False  # whether it is the smallest with a small loss


def loss_points(rows: Sequence[EstimateRow]) -> tuple[LossPoint, ...]:
    """Return quantizations that can still be made of the weights, smallest first.

    None is larger than the stored one: wider formats cost memory without any gain.
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


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve, in the units of its two axes."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Points from left to right with one label."""

    points: tuple[Point, ...]
    label: str
    detail: str = ""  # engine, quantization or run config


@dataclass(frozen=True, slots=True)
class Capacity:
    """Usable memory of some boards together: a line across a picture of memory."""

    label: str
    memory_bytes: int
