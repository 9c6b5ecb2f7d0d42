"""Preference: which of several ways to run a model is the better one, in an order one can read.

    verdict     surely fits, then tight, then a part in system memory, then pages from the disk
    usual       a quantization to choose unasked, under the engine that people run it with
    boards      the fewest
    room        a tenth of each device is left free
    faithful    the most faithful quantization; where a part stays in system memory, the fewest bits

What comes first decides; what comes later breaks ties. Rankings, named GPUs, comparisons, machines
with several cards, remedies and plans choose by it, so that they agree about a card.
docs/recommendation.md says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpusizer.fit.division import board_counts
from gpusizer.fit.machine import Machine
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.fit.ways import not_supported, ways
from gpusizer.gpus import Gpu

SPARE_SHARE = 0.1
"""Share of each device to spare at the likely values: longer prompts, a desktop, updates."""


@dataclass(frozen=True, slots=True)
class Preference:
    """What is preferred among ways; `spare_share` of each device is room enough."""

    spare_share: float = SPARE_SHARE

    def key(self, way: Way) -> tuple[float, ...]:
        """Sort key, least for the best way."""
        boards = float(way.boards) if way.machine.gpus else 0.0
        quant, verdict = way.estimate.quant, way.verdict
        if verdict is Verdict.DOES_NOT_FIT:
            return (verdict.place, float(not way.is_usual), -way.headroom_bytes, boards)
        faithful = (quant.bits, float(quant.order)) if way.in_part else (float(quant.order), 0.0)
        roomy = verdict is not Verdict.FITS or way.spare_share >= self.spare_share
        return (verdict.place, float(not way.is_usual), boards, float(not roomy), *faithful)

    def is_satisfied(self, best: Way, following: Way) -> bool:
        """Whether nothing that is yielded from `following` on is better than the best way so far.

        Ways come by boards, usual engines first, the most faithful quantization first.
        """
        if best.verdict is not Verdict.FITS or not best.is_usual:
            return False
        roomy = best.spare_share >= self.spare_share
        return roomy or following.boards > best.boards or not following.is_usual


PREFERENCE = Preference()


def choose(candidates: Iterable[Way], preference: Preference = PREFERENCE) -> Way | None:
    """The best of the ways, in the order that `ways` yields them; None where there are none."""
    best: Way | None = None
    for way in candidates:
        if best is not None and preference.is_satisfied(best, way):
            break
        if best is None or preference.key(way) < preference.key(best):
            best = way
        if preference.is_satisfied(best, best):
            break
    return best


def best_way(study: Study, machine: Machine, preference: Preference = PREFERENCE) -> Way:
    """The best way on one machine; where no engine runs the model there, a way that says why."""
    return choose(ways(study, machine), preference) or not_supported(study, machine)


def best_on_boards(
    study: Study,
    gpu: Gpu,
    counts: Sequence[int] | None = None,
    preference: Preference = PREFERENCE,
) -> Way | None:
    """The best way with all of the model on boards of one kind, None where none holds it.

    `counts` are the numbers of boards to try, smallest first; None for those that one plans with.
    """
    best = choose(_by_boards(study, gpu, counts or board_counts(gpu)), preference)
    return best if best is not None and best.verdict.all_on_gpu else None


def _by_boards(study: Study, gpu: Gpu, counts: Sequence[int]) -> Iterator[Way]:
    for boards in counts:
        yield from ways(study, Machine.of(gpu, boards), whole=True)
