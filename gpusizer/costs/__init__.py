"""What a plan costs: boards bought or rented, electricity, and when buying pays off."""

from gpusizer.costs.assumptions import DEFAULT_ASSUMPTIONS, CostAssumptions
from gpusizer.costs.plan import PlanCosts, plan_costs
from gpusizer.costs.rental import RentalQuote, rental_quote

__all__ = [
    "DEFAULT_ASSUMPTIONS",
    "CostAssumptions",
    "PlanCosts",
    "RentalQuote",
    "plan_costs",
    "rental_quote",
]
