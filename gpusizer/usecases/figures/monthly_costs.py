"""Monthly costs of a load along its rate of requests: by API, on own servers and on rented ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.serving.serving_rows import ServingPlan

# Rates that are drawn, as multiples of the requested one: two decades below it, one above.
_SPAN = (0.01, 10.0)
_POINTS = 61


@dataclass(frozen=True, slots=True)
class MonthlyCosts:
    """US dollars a month at each of `rates`, in requests/s."""

    requests_per_second: float  # the requested rate
    rates: tuple[float, ...]
    api_low: tuple[float, ...]  # of the cheapest provider
    api_median: tuple[float, ...]
    api_high: tuple[float, ...]
    owned: tuple[float, ...] | None  # None if the price is unknown
    rented: tuple[float, ...] | None
    gpus: str  # boards of one server
    providers: int


def monthly_costs(plan: ServingPlan | None) -> MonthlyCosts | None:
    """Return the costs of a plan's load by API and on its first servers.

    None without a plan, a server or a provider's price. A server bears its share of the requested
    load: how much more is unknown, so that each further share takes another server.
    """
    if plan is None or plan.api is None or not plan.rows:
        return None
    asked, first, api = plan.target.requests_per_second, plan.rows[0], plan.api
    low, high = (math.log(asked * end) for end in _SPAN)
    step = (high - low) / (_POINTS - 1)
    rates = tuple(math.exp(low + i * step) for i in range(_POINTS))

    def by_api(usd_per_month: float) -> tuple[float, ...]:
        return tuple(usd_per_month * rate / asked for rate in rates)

    def on_servers(usd_per_month: float) -> tuple[float, ...]:
        share = asked / first.replicas
        servers = (max(1, math.ceil(rate / share - 1e-9)) for rate in rates)
        return tuple(usd_per_month / first.replicas * count for count in servers)

    return MonthlyCosts(
        requests_per_second=asked,
        rates=rates,
        api_low=by_api(api.low_usd_per_month),
        api_median=by_api(api.median_usd_per_month),
        api_high=by_api(api.high_usd_per_month),
        owned=None if api.owned is None else on_servers(api.owned.usd_per_month),
        rented=None if api.rented is None else on_servers(api.rented.usd_per_month),
        gpus=boards_name(first.gpu, first.boards),
        providers=len(api.prices),
    )
