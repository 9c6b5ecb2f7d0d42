"""What stands behind the speed of a way: measurements of such cards, and its band."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.fit.speed import decode_bands, is_measured
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import work_at
from gpusizer.fit.way import Way


@dataclass(frozen=True, slots=True)
class SpeedEvidence:
    """The evidence of a speed.

    Attributes:
        measured: the band of this kind of engine on this class of card was measured, not taken
            over from other cards. Bands that are measured stand on runs of several sources.
        surely_enough: even the low end of the band is what the reader asks for, or nothing is.
    """

    measured: bool
    surely_enough: bool

    @property
    def holds(self) -> bool:
        """Whether the speed was measured, and even the low end is what the reader asks for."""
        return self.measured and self.surely_enough


def speed_evidence(study: Study, way: Way, speed: float | None) -> SpeedEvidence | None:
    """What stands behind the tokens/s of each user: nothing where these are unknown. None where no
    text is generated, or layers lie on unlike devices."""
    work = work_at(study, way.estimate) if way.arranged is None else None
    if work is None:
        return None
    asked = study.demands.min_tok_s
    if speed is None:
        return SpeedEvidence(measured=False, surely_enough=asked is None)
    enough = asked is None or speed * decode_bands(work, way.gpu)[1].low >= asked
    return SpeedEvidence(is_measured(work, way.gpu), enough)
