"""Rate: a speed or a time with its band."""

from __future__ import annotations

from dataclasses import dataclass

DIGITS = 3  # Significant digits of a speed.


@dataclass(frozen=True, slots=True)
class RateBand:
    """Measured over predicted speed: factors for the low and high end of a rate."""

    low: float
    high: float

    def widened(self, by: RateBand) -> RateBand:
        """Return the band with both uncertainties at their worst ends."""
        return RateBand(self.low * by.low, self.high * by.high)


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens per second, or seconds, with its band."""

    low: float
    likely: float
    high: float

    @classmethod
    def banded(cls, likely: float, band: RateBand) -> Rate:
        """Return `likely` with the ends of its band, rounded to three digits."""
        return cls(*(_rounded(likely * factor) for factor in (band.low, 1.0, band.high)))

    def times(self, count: float) -> Rate:
        """Return the total of `count` equal rates."""
        return Rate(*(_rounded(value * count) for value in (self.low, self.likely, self.high)))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
