"""Rate: a speed or a time with its band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DIGITS = 3
"""Digits that mean anything in a speed."""


@dataclass(frozen=True, slots=True)
class Band:
    """Measured over predicted speed: factors for the low and high end of a rate."""

    low: float
    high: float

    def widened(self, by: Band) -> Band:
        """Both uncertainties at their worst."""
        return Band(self.low * by.low, self.high * by.high)


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens per second, or seconds, with its band."""

    low: float
    likely: float
    high: float

    def to_json(self) -> dict[str, float]:
        return {"low": self.low, "likely": self.likely, "high": self.high}

    @classmethod
    def from_json(cls, data: Mapping[str, float]) -> Rate:
        """Inverse of `to_json`."""
        return cls(data["low"], data["likely"], data["high"])

    @classmethod
    def banded(cls, likely: float, band: Band) -> Rate:
        """`likely` with the ends of its band, to three digits."""
        return cls(*(_rounded(likely * factor) for factor in (band.low, 1.0, band.high)))

    def times(self, count: float) -> Rate:
        """The same for `count` at once."""
        return Rate(*(_rounded(value * count) for value in (self.low, self.likely, self.high)))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
