"""CostAssumptions: what the reader may know better than any table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

DAYS_PER_MONTH = 365.25 / 12
"""Days of an average month."""


@dataclass(frozen=True, slots=True)
class CostAssumptions:
    """How much the boards work and what the rest costs. Round figures, shown in every answer.

    Attributes:
        hours_per_day: hours of work a day, every day of the year. Idle hours cost nothing here.
        usd_per_kwh: price of electricity.
        amortisation_years: after which bought boards are worth nothing.
        host_usd: price of the computers around the boards; 0 leaves them out.
    """

    hours_per_day: float = 8.0
    usd_per_kwh: float = 0.15
    amortisation_years: float = 3.0
    host_usd: float = 0.0

    @property
    def hours_per_month(self) -> float:
        """Hours of work in an average month."""
        return self.hours_per_day * DAYS_PER_MONTH

    @property
    def lifetime_hours(self) -> float:
        """Hours of work until the boards are written off."""
        return self.hours_per_month * 12 * self.amortisation_years

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CostAssumptions:
        return cls(**data)


DEFAULT_ASSUMPTIONS = CostAssumptions()
