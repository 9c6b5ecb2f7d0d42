"""API prices of providers for running a model, compared with own servers for a load.

USD/request = ((prompt - shared) x input + shared x cached + answer x output) / 10^6
"""

# A price is of exactly one checkpoint: a base model is never priced as its instruct variant, nor a
# quantized copy as its original. Prices are rows of `data/api_prices.csv`, whose sources are in
# `data/SOURCES.md`.

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import median

from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.core.units import SECONDS_PER_HOUR, significant
from gpusizer.gpus.costs import PlanCosts
from gpusizer.serving.replicas import ServingTarget

HOURS_PER_MONTH = 730  # Hours of an average month: a service of requests runs day and night.


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """US dollars that a provider asks for a million tokens."""

    model_id: str
    provider: str
    usd_per_million_input: float
    usd_per_million_output: float
    # of a prompt's start that was sent before; None if not stated
    usd_per_million_cached_input: float | None
    date: str  # ISO date from which the price is known to hold
    dated: bool  # False if the price list has no date and `date` is the day on which it was read
    source_url: str

    def usd_per_request(self, target: ServingTarget) -> float:
        """Return the price of one request of a load; a shared beginning is read from the cache."""
        cached = self.usd_per_million_cached_input
        if cached is None:
            cached = self.usd_per_million_input
        shared = min(target.shared_prefix_tokens, target.prompt_tokens)
        prompt = (target.prompt_tokens - shared) * self.usd_per_million_input
        return (prompt + shared * cached + target.answer_tokens * self.usd_per_million_output) / 1e6


@dataclass(frozen=True, slots=True)
class OwnServers:
    """Costs of own servers, compared with an API."""

    usd_per_month: float  # of all replicas, day and night
    # rate from which one server, full or not, costs less than the median provider; None if a server
    # at this load still costs more
    wins_from_requests_per_second: float | None


@dataclass(frozen=True, slots=True)
class ApiComparison:
    """A load by API, and on the first servers of a plan, bought and rented."""

    prices: tuple[ApiPrice, ...]  # of every provider known, the cheapest request first
    # `low_usd_per_month`, `median_usd_per_month`, `high_usd_per_month`: of the load, over providers
    low_usd_per_month: float
    median_usd_per_month: float
    high_usd_per_month: float
    owned: OwnServers | None  # `owned`, `rented`: None if that price is not known
    rented: OwnServers | None

    @property
    def newest(self) -> str:
        """ISO date of the newest price."""
        return max(price.date for price in self.prices)


@cache
def api_prices() -> dict[str, tuple[ApiPrice, ...]]:
    """Return every price on record, by the model's ID in small letters."""
    found: dict[str, list[ApiPrice]] = {}
    for price in read_table(DATA_DIR / "api_prices.csv", lambda row: row.record(ApiPrice)):
        found.setdefault(price.model_id.lower(), []).append(price)
    return {model: tuple(prices) for model, prices in found.items()}


def compare_with_apis(
    repo_id: str, target: ServingTarget, first: PlanCosts | None, replicas: int
) -> ApiComparison | None:
    """Return the costs of a load by API, or None if no provider's price is known.

    `first` are the costs of all replicas of a plan's first row, None if the plan has no rows.
    """
    prices = sorted(
        api_prices().get(repo_id.lower(), ()), key=lambda price: price.usd_per_request(target)
    )
    if not prices:
        return None
    each = [price.usd_per_request(target) for price in prices]
    requests_per_month = target.requests_per_second * SECONDS_PER_HOUR * HOURS_PER_MONTH

    def own_servers(usd_per_hour: float | None) -> OwnServers | None:
        if usd_per_hour is None:
            return None
        # A server is known to bear its share of this load, not how much more.
        known_rate = target.requests_per_second / replicas
        wins_from = usd_per_hour / replicas / (median(each) * SECONDS_PER_HOUR)
        return OwnServers(
            significant(usd_per_hour * HOURS_PER_MONTH),
            significant(wins_from) if wins_from <= known_rate else None,
        )

    return ApiComparison(
        tuple(prices),
        significant(each[0] * requests_per_month),
        significant(median(each) * requests_per_month),
        significant(each[-1] * requests_per_month),
        owned=None if first is None else own_servers(_owned_usd_per_hour(first)),
        rented=None if first is None else own_servers(first.rent_usd_per_hour),
    )


def api_note(compared: ApiComparison) -> Note:
    """Return a plan's note about APIs."""
    own = [servers for servers in (compared.owned, compared.rented) if servers is not None]
    wins = [servers.wins_from_requests_per_second for servers in own]
    facts: dict[str, NoteValue] = {
        "low_usd": compared.low_usd_per_month,
        "high_usd": compared.high_usd_per_month,
        "providers": len(compared.prices),
        "provider": compared.prices[0].provider,
        "date": compared.newest,
    }
    known = [rate for rate in wins if rate is not None]
    if known:
        return Note("plan_by_api_until", rate=min(known), **facts)
    return Note("plan_by_api" if own else "plan_by_api_alone", **facts)


def _owned_usd_per_hour(costs: PlanCosts) -> float | None:
    electricity = costs.electricity_usd_per_hour
    if costs.buy_usd is None or electricity is None or not costs.cards:
        return None  # the price of a server's module leaves out its server
    paid = costs.buy_usd + costs.assumptions.host_usd
    return paid / (costs.assumptions.amortisation_years * 12 * HOURS_PER_MONTH) + electricity
