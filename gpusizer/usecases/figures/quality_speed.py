"""Points of models that run on a machine: quality by the leading board, speed and memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import short_name
from gpusizer.usecases.models_for.models_answer import RunsOn


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """One model: its share of models below on the leading board, its likely pace, its memory."""

    label: str
    share: float  # from 0 to 1
    pace: float  # of one user, in the unit of the model's kind
    used_bytes: int  # on the fullest device and in system memory together
    is_front: bool = False  # no other model is as good and as fast


def quality_points(rows: Iterable[RunsOn]) -> tuple[QualityPoint, ...]:
    """Return a point for each model with a score on the leading board and a known speed."""
    found = []
    for row in rows:
        leading = row.scored.measured.leading if row.scored else None
        pace = row.scored.likely if row.scored else 0.0
        if leading is not None and leading.share is not None and pace > 0:
            label = short_name(row.runs.profile)
            found.append(QualityPoint(label, leading.share, pace, row.used_bytes))
    return with_front(found)


def with_front(points: Sequence[QualityPoint]) -> tuple[QualityPoint, ...]:
    """Return the points, those marked that no other beats in quality and speed."""

    def is_beaten(point: QualityPoint) -> bool:
        return any(
            other.share >= point.share
            and other.pace >= point.pace
            and (other.share, other.pace) != (point.share, point.pace)
            for other in points
        )

    return tuple(
        QualityPoint(p.label, p.share, p.pace, p.used_bytes, not is_beaten(p)) for p in points
    )
