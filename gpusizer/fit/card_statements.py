"""What the reader must know about a card that he described, or of which he said what is free."""

from __future__ import annotations

from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.way import Way, room_on


def statements_on(way: Way) -> tuple[Note, ...]:
    """What was stated about the card, and what its free memory changes for the engine."""
    estimate = way.estimate
    room = room_on(way.gpu, estimate)
    notes = [*way.gpu.statements]
    if room.refused_bytes:
        notes.append(
            Note(
                "utilization_refused",
                engine=estimate.engine.name,
                percent=_percent(room.utilization),
                short_bytes=room.refused_bytes,
            )
        )
    elif room.utilization < estimate.utilization:
        notes.append(
            Note(
                "utilization_lowered",
                engine=estimate.engine.name,
                percent=_percent(room.utilization),
                percent_default=_percent(estimate.utilization),
            )
        )
    return tuple(notes)


def _percent(share: float) -> float:
    return significant(100 * share)
