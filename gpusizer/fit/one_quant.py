"""One quantization for several machines, so that their speeds compare cards and not quantizations.

It is chosen as every other way is: the one that stands best where it stands worst. A machine on
which no quantization runs at all has no say.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_way, standing
from gpusizer.fit.study import QuantPair, Study
from gpusizer.fit.way import Way


def one_for_all(study: Study, own: Sequence[Way]) -> QuantPair | None:
    """The best quantization that all machines take; None where their own choices agree already.

    `own` is the preferred way on each machine.
    """
    running = [way for way in own if way.verdict.runs]
    if len({(way.estimate.quant, way.estimate.native) for way in running}) < 2:
        return None
    machines = [way.machine for way in running]
    return min(study.quants, key=lambda pair: _worst(study, pair, machines))


def _worst(
    study: Study, pair: QuantPair, machines: Sequence[Machine]
) -> tuple[bool, tuple[float, ...]]:
    """Whether a machine does not run it, and the worst of each part of its standing."""
    ways = [best_way(study.among([pair]), machine) for machine in machines]
    worst = zip(*(standing(study, way) for way in ways), strict=True)
    return not all(way.verdict.runs for way in ways), tuple(map(max, worst))
