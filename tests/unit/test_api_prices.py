"""gpusizer.serving.api_prices: a load by API beside servers, with hand-worked sums."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.gpus import load_catalogue
from gpusizer.gpus.costs import CostAssumptions, plan_costs
from gpusizer.serving import api_prices as api_prices_module
from gpusizer.serving.api_prices import (
    HOURS_PER_MONTH,
    ApiPrice,
    api_note,
    api_prices,
    compare_with_apis,
)
from gpusizer.serving.replicas import ServingTarget
from gpusizer.ui.presenters.charts.month import month_plot
from gpusizer.usecases.figures.monthly_costs import monthly_costs
from gpusizer.usecases.requests.request import SizeRequest
from tests.pages import ENGLISH
from tests.sizers import embedded_sizer

LOAD = ServingTarget(2.0, prompt_tokens=1000, answer_tokens=300, ttft_seconds=None)
PRICE = ApiPrice("org/model", "shop", 0.1, 0.4, 0.02, "2026-10-01", True, "https://shop.example")
MODEL = "Qwen/Qwen3-32B"


def test_a_request_is_its_tokens_at_their_prices() -> None:
    # 1,000 x 0.1 + 300 x 0.4 dollars for a million tokens
    assert PRICE.usd_per_request(LOAD) == pytest.approx(0.00022)


def test_a_shared_beginning_costs_what_the_cache_costs() -> None:
    shared = replace(LOAD, shared_prefix_tokens=800)
    assert PRICE.usd_per_request(shared) == pytest.approx((200 * 0.1 + 800 * 0.02 + 120) / 1e6)
    uncached = replace(PRICE, usd_per_million_cached_input=None)
    assert uncached.usd_per_request(shared) == pytest.approx(0.00022)


def test_a_month_is_730_hours_of_the_load() -> None:
    compared = compare_with_apis(MODEL, LOAD, None, 1)
    assert compared is not None
    cheapest = compared.prices[0].usd_per_request(LOAD)
    month = cheapest * 2.0 * 3600 * HOURS_PER_MONTH
    assert compared.low_usd_per_month == pytest.approx(month, rel=5e-3)
    assert (compared.owned, compared.rented) == (None, None)
    assert (
        compared.low_usd_per_month <= compared.median_usd_per_month <= compared.high_usd_per_month
    )


def test_a_price_is_of_one_checkpoint_alone() -> None:
    assert compare_with_apis("Qwen/Qwen3-32B-made-up", LOAD, None, 1) is None
    assert compare_with_apis(MODEL.lower(), LOAD, None, 1) is not None


@pytest.mark.parametrize("rate", [0.05, 2, 20])
def test_a_server_wins_from_the_rate_at_which_it_costs_what_the_api_costs(rate: float) -> None:
    report = embedded_sizer().size(
        SizeRequest.from_fields(
            {
                "model": MODEL,
                "gpu": "H100 SXM",
                "requests_per_second": rate,
                "prompt_tokens": 1000,
                "answer_tokens": 300,
            }
        )
    )
    plan = report.serving_plan
    assert plan is not None and plan.api is not None
    rented, row = plan.api.rented, plan.rows[0]
    assert rented is not None
    hourly = row.costs.rent_usd_per_hour
    assert hourly is not None
    assert rented.usd_per_month == pytest.approx(hourly * HOURS_PER_MONTH, rel=5e-3)
    wins = rented.wins_from_requests_per_second
    # Per server and request: cheaper by API if the load fills a server less than that.
    is_cheaper = rented.usd_per_month < plan.api.median_usd_per_month
    assert (wins is not None) == is_cheaper
    assert api_note(plan.api) in plan.notes


def test_every_price_on_record_is_plausible_and_dated() -> None:
    rows = [price for prices in api_prices().values() for price in prices]
    assert len(rows) > 1000
    for price in rows:
        assert 0 < price.usd_per_million_input <= 100, price
        assert 0 < price.usd_per_million_output <= 200, price
        assert price.source_url.startswith("https://"), price
        assert price.date[:3] == "202", price
    keys = {(price.model_id, price.provider) for price in rows}
    assert len(keys) == len(rows)


def test_a_month_is_drawn_along_the_rate_of_requests() -> None:
    report = embedded_sizer().size(
        SizeRequest.from_fields(
            {"model": MODEL, "requests_per_second": 2, "prompt_tokens": 1000, "answer_tokens": 300}
        )
    )
    plan, costs = report.serving_plan, monthly_costs(report.serving_plan)
    assert plan is not None and plan.api is not None and plan.api.owned is not None
    assert costs is not None and costs.owned is not None
    first, last, replicas = costs.rates[0], costs.rates[-1], plan.rows[0].replicas
    assert first == pytest.approx(0.02) and last == pytest.approx(20)
    # An API costs by the request; servers are whole: ten times the load takes ten times as many.
    assert costs.api_median[-1] == pytest.approx(10 * plan.api.median_usd_per_month)
    assert costs.owned[0] == pytest.approx(plan.api.owned.usd_per_month / replicas)
    assert costs.owned[-1] == pytest.approx(10 * plan.api.owned.usd_per_month)
    plot = month_plot(costs, ENGLISH)
    assert f"{len(plan.api.prices)} providers" in plot.above
    assert plot.below.count('<th scope="row"') == 11


def test_nothing_is_drawn_without_a_price_or_a_server() -> None:
    report = embedded_sizer().size(
        SizeRequest.from_fields({"model": MODEL, "requests_per_second": 2})
    )
    plan = report.serving_plan
    assert plan is not None and monthly_costs(plan) is not None
    assert monthly_costs(None) is None
    assert monthly_costs(replace(plan, api=None)) is None
    assert monthly_costs(replace(plan, rows=())) is None


def of_a_month(requests: float, prompt: int, answer: int) -> ServingTarget:
    rate = requests / (3600 * HOURS_PER_MONTH)
    return ServingTarget(rate, prompt_tokens=prompt, answer_tokens=answer, ttft_seconds=None)


@pytest.mark.parametrize(
    ("load", "usd_in", "usd_out", "usd_per_month"),
    [
        # 60 and 40 million tokens: https://kickllm.com/blog/self-hosted-vs-api.html
        (of_a_month(100_000, 600, 400), 0.59, 0.79, 67),
        # 300 and 100 million: https://gpubrazil.com/en/blog/token-economics-self-hosted-gpu.html
        (of_a_month(100_000, 3000, 1000), 3, 15, 2_400),
        # ten million calls: https://claudecodeguides.com/claude-cost-open-source-llm-cost-floor/
        (of_a_month(10_000_000, 1000, 200), 1, 5, 20_000),
    ],
)
def test_published_sums_are_met(
    load: ServingTarget,
    usd_in: float,
    usd_out: float,
    usd_per_month: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = replace(PRICE, usd_per_million_input=usd_in, usd_per_million_output=usd_out)
    monkeypatch.setattr(api_prices_module, "api_prices", lambda: {"org/model": (asked,)})
    # Two A100 at 3 USD an hour, day and night: 4,380 USD (https://kickllm.com, as above).
    card, paid = load_catalogue().find("A100 SXM 80GB"), CostAssumptions(gpu_usd_per_hour=3)
    rented = plan_costs(card, 2, 100.0, paid)
    compared = compare_with_apis("org/model", load, rented, 1)
    assert compared is not None and compared.rented is not None
    assert compared.median_usd_per_month == pytest.approx(usd_per_month, rel=0.01)
    assert compared.rented.usd_per_month == pytest.approx(4_380, rel=0.01)
    # The month in which both cost the same, as every one of these pages works it out.
    even = compared.rented.wins_from_requests_per_second
    is_enough = usd_per_month >= 4_380
    assert (even is not None) is is_enough
    if even is not None:
        share = 4_380 / usd_per_month
        assert even == pytest.approx(share * load.requests_per_second, rel=0.01)
