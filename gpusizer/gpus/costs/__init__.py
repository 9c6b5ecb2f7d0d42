"""Costs of a plan: boards bought or rented, electricity, and when buying pays off."""

from __future__ import annotations

from gpusizer.gpus.costs.plan import (
    DEFAULT_ASSUMPTIONS,
    CostAssumptions,
    LoadTimes,
    PlanCosts,
    load_times,
    plan_costs,
)
from gpusizer.gpus.costs.rental import RentalQuote, rent_usd_per_hour, rental_quote

__all__ = [
    "DEFAULT_ASSUMPTIONS",
    "CostAssumptions",
    "LoadTimes",
    "PlanCosts",
    "RentalQuote",
    "load_times",
    "plan_costs",
    "rent_usd_per_hour",
    "rental_quote",
]
