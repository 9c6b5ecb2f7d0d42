"""What stands behind the speed of a way: measurements of such cards, and its band."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.fit.speed import decode_bands, is_measured
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import user_speed, work_at
from gpusizer.fit.way import Way


@dataclass(frozen=True, slots=True)
class SpeedEvidence:
    """The evidence of a speed.

    Attributes:
        measured: the band of this kind of engine on this class of card was measured, not taken
            over from other cards. Bands that are measured stand on runs of several sources.
        low: tokens/s of each user at the low end of the band.
        asked: tokens/s that the reader asks for, None where nothing is said.
    """

    measured: bool
    low: float
    asked: float | None

    @property
    def holds(self) -> bool:
        """Whether the speed was measured, and even the low end is what the reader asks for."""
        return self.measured and (self.asked is None or self.low >= self.asked)


def speed_evidence(study: Study, way: Way) -> SpeedEvidence | None:
    """What stands behind the tokens/s of each user: nothing where these are unknown. None where no
    text is generated, or layers lie on unlike devices."""
    work = work_at(study, way.estimate) if way.arranged is None else None
    if work is None:
        return None
    asked, speed = study.demands.min_tok_s, user_speed(study, way)
    if speed is None:
        return SpeedEvidence(measured=False, low=0.0, asked=asked)
    _, band = decode_bands(work, way.gpu)
    return SpeedEvidence(is_measured(work, way.gpu), speed * band.low, asked)
