"""Three models to pick from, each with a reason.

The best that runs well, one that is much faster and nearly as good, and one that is newer than the
board, has a longer context or takes less memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from gpusizer.advice.conclusion.clauses import short_name
from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.requirements import COMFORTABLE_SPEED
from gpusizer.quality.boards import FAR_APART, BoardScore, Group
from gpusizer.usecases.models_for.by_purpose import Scored

MOST_PICKS = 3
_LOOKED_AT = 16  # models of the first board from which picks are taken
_TWICE, _CLEARLY_FASTER = 2, 1.25  # the second is a step of speed that one notices
_CLEARLY_LONGER = 2
_CLEARLY_SMALLER = 0.5


@dataclass(frozen=True, slots=True)
class Pickable:
    """A model that may be picked."""

    scored: Scored
    max_context: int | None  # tokens of the longest sequence that surely fits, or None if unknown
    used_bytes: int  # on the fullest device and in system memory together
    created: date | None  # day on which its family came to the Hub


def worth_picking(scored: Sequence[Scored]) -> list[int]:
    """Return the indices of models worth picking, in their order.

    These surely run well, and score on the first board nearly as high as the best. The first model
    of each further group is added if it is as fast as a reader wants.
    """
    well = [at for at, one in enumerate(scored) if one.runs_well and one.is_sure]
    groups = dict.fromkeys(scored[at].measured.group for at in well)
    of_group = [[at for at in well if scored[at].measured.group == group] for group in groups]
    if not of_group:
        return []
    best = scored[of_group[0][0]]
    near = [at for at in of_group[0] if _is_near(scored[at], best)]
    enough = min(best.likely, COMFORTABLE_SPEED)
    others = ([at for at in places if scored[at].likely >= enough] for places in of_group[1:])
    return [*near[:_LOOKED_AT], *(places[0] for places in others if places)]


def _is_near(scored: Scored, best: Scored) -> bool:
    # Unmeasured models count as near.
    first, other = scored.measured.first, best.measured.first
    if first is None or other is None or first.share is None or other.share is None:
        return True
    return other.share - first.share <= FAR_APART


def picks(models: Sequence[Pickable]) -> list[tuple[Pickable, Note]]:
    """Return at most MOST_PICKS of models worth picking, the first of them first."""
    chosen: list[tuple[Pickable, Note]] = []
    if models:
        chosen.append((models[0], _why_first(models[0].scored)))
        for model, why in _others(models[0], models[1:]):
            if len(chosen) < MOST_PICKS and all(model is not other for other, _ in chosen):
                chosen.append((model, why))
    return [(model, _named(why, model)) for model, why in chosen]


def _named(why: Note, model: Pickable) -> Note:
    return Note(why.code, model=short_name(model.scored.runs.profile), **why.fields)


def _why_first(scored: Scored) -> Note:
    first = scored.measured.first
    return Note("pick_unmeasured") if first is None else _by_board("pick_best", first)


def _by_board(code: str, score: BoardScore) -> Note:
    board = score.board
    return Note(code, board=board.board, share=_percent(score), models=board.models)


def _percent(score: BoardScore) -> int:
    return round(100 * (score.share or 0.0))


def _others(first: Pickable, models: Sequence[Pickable]) -> Iterator[tuple[Pickable, Note]]:
    # Models that beat the first in one respect, the most telling one first.
    group = first.scored.measured.group
    alike = [model for model in models if model.scored.measured.group == group]
    for faster in (_TWICE, _CLEARLY_FASTER):
        fast = [m for m in alike if m.scored.likely >= faster * first.scored.likely > 0]
        if fast:
            yield fast[0], _why_fast(fast[0].scored, first.scored)
            break
    for model in models:
        if model.scored.measured.group != group and _is_newer(model, first):
            score = model.scored.measured.first
            yield model, Note("pick_new") if score is None else _by_board("pick_newer", score)
            break
    if alike:
        yield from _roomier(first, alike)


def _why_fast(scored: Scored, first: Scored) -> Note:
    times, score = significant(scored.likely / first.likely), scored.measured.first
    if score is None:
        return Note("pick_fast_unmeasured", times=times)
    return Note("pick_fast", times=times, share=_percent(score))


def _known(group: Group) -> str:
    # Whether the models of a group are known to be good.
    return "unmeasured" if group == "unmeasured" else "good"


def _is_newer(model: Pickable, first: Pickable) -> bool:
    created, before = model.created, first.created
    return created is not None and before is not None and created > before


def _roomier(first: Pickable, alike: Sequence[Pickable]) -> Iterator[tuple[Pickable, Note]]:
    # Models with a much longer context, or with much less memory.
    known = _known(first.scored.measured.group)
    longest = max(alike, key=lambda model: model.max_context or 0)
    if first.max_context and (longest.max_context or 0) >= _CLEARLY_LONGER * first.max_context:
        yield longest, Note(f"pick_longest_{known}", context=longest.max_context or 0)
    smallest = min(alike, key=lambda model: model.used_bytes)
    if smallest.used_bytes <= _CLEARLY_SMALLER * first.used_bytes:
        yield smallest, Note(f"pick_smallest_{known}", used_bytes=smallest.used_bytes)
