"""Amount: a number of bytes with its uncertainty and provenance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Provenance(StrEnum):
    """Provenance of a number, best first."""

    EXACT = "exact"  # read from the files themselves
    DERIVED = "derived"  # computed from configuration and tensor shapes by a known rule
    FITTED = "fitted"  # a formula whose constants come from measurements


_WORST_FIRST = (Provenance.FITTED, Provenance.DERIVED, Provenance.EXACT)


@dataclass(frozen=True, slots=True)
class Amount:
    """Bytes: a likely value inside a band. Exact amounts have no width."""

    low: int
    likely: int
    high: int
    provenance: Provenance

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.likely <= self.high:
            raise ValueError(f"band out of order: {self.low} {self.likely} {self.high}")

    def __add__(self, other: Amount) -> Amount:
        worst = next(p for p in _WORST_FIRST if p in (self.provenance, other.provenance))
        return Amount(
            self.low + other.low, self.likely + other.likely, self.high + other.high, worst
        )

    def without(self, part: Amount) -> Amount:
        """Return the amount less one of its parts."""
        low, likely, high = self.low - part.low, self.likely - part.likely, self.high - part.high
        return Amount(low, likely, high, self.provenance)

    def times(self, count: int) -> Amount:
        """Return the sum of this amount on each of `count` GPUs."""
        return Amount(self.low * count, self.likely * count, self.high * count, self.provenance)

    def scaled(self, share: float) -> Amount:
        """Return the amount times `share`, rounded to whole bytes."""
        low, likely, high = (round(part * share) for part in (self.low, self.likely, self.high))
        return Amount(low, likely, high, self.provenance)


def exactly(amount_bytes: int, provenance: Provenance) -> Amount:
    """Return an amount without a band."""
    return Amount(amount_bytes, amount_bytes, amount_bytes, provenance)


def fitted(low: float, likely: float, high: float) -> Amount:
    """Return an amount with a measured band, rounded to whole bytes."""
    return Amount(round(low), round(likely), round(high), Provenance.FITTED)


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of amounts; its provenance is the weakest of theirs."""
    low = likely = high = 0
    provenances = {Provenance.EXACT}
    for amount in amounts:
        low += amount.low
        likely += amount.likely
        high += amount.high
        provenances.add(amount.provenance)
    return Amount(low, likely, high, next(p for p in _WORST_FIRST if p in provenances))
