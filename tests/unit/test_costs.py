"""Costs of a plan: every figure by hand from prices, watts and speed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.api.prices import PlacePriceInfo
from gpusizer.gpus import Gpu, Price, load_catalogue
from gpusizer.gpus.costs import (
    DEFAULT_ASSUMPTIONS,
    CostAssumptions,
    PlanCosts,
    load_times,
    plan_costs,
)
from gpusizer.gpus.costs.power import SUPPLY_WATTS, plan_watts, power_supply_watts
from gpusizer.gpus.costs.rental import RentalOffer, quote_of, rental_quote
from tests.documents import part

CATALOGUE = load_catalogue()
TODAY = date(2026, 11, 22)


def costs_of(
    gpu: str, boards: int = 1, speed: float | None = 50.0, **assumptions: float
) -> PlanCosts:
    return plan_costs(CATALOGUE.find(gpu), boards, speed, CostAssumptions(**assumptions), TODAY)


def costs_at_2200(speed: float = 50.0, **assumptions: float) -> PlanCosts:
    """Return the costs of an RTX 4090 at a round price, which no refresh of the data moves."""
    price = Price(2200.0, "street", "somewhere", "2026", "used", 2000.0, 2400.0, ("A",))
    card = replace(CATALOGUE.find("4090"), street=price)
    return plan_costs(card, 1, speed, CostAssumptions(**assumptions), TODAY)


def offer(provider: str, usd: float, **facts: object) -> RentalOffer:
    base_offer = RentalOffer(provider, usd, False, False, True, "2026-08-22", "somewhere")
    return replace(base_offer, **facts)  # type: ignore[arg-type]


def test_the_likely_rent_is_the_median_of_providers_not_of_rows() -> None:
    """Two rows of one provider count once: the median of 1.5, 2 and 9 is 2."""
    quote = quote_of(
        [
            offer("A", 1.0),
            offer("A", 2.0),
            offer("B", 2.0),
            offer("C", 9.0),
            offer("C", 0.5, spot=True),
            offer("D", 0.1, marketplace=True),
            offer("D", 0.05, marketplace=True, spot=True),
        ]
    )
    assert (quote.likely_usd, quote.low_usd, quote.high_usd) == (2.0, 1.0, 9.0)
    assert (quote.spot_usd, quote.marketplace_usd) == (0.5, 0.1)
    assert quote.providers == ("A", "B", "C")


def test_marketplaces_alone_give_no_likely_rent() -> None:
    quote = quote_of([offer("D", 0.1, marketplace=True)])
    assert quote.likely_usd is None and quote.marketplace_usd == 0.1
    assert (quote.providers, quote.as_of) == ((), "2026-08-22")


def test_rents_of_the_table() -> None:
    """RTX 4090: RunPod 0.34 and 0.74 (0.54), YottaLabs 0.48. L4: five providers, 0.512 between."""
    quote = rental_quote(CATALOGUE.find("4090"))
    assert quote is not None and quote.exact
    assert (quote.likely_usd, quote.low_usd, quote.high_usd) == (0.51, 0.34, 0.74)
    assert (quote.marketplace_usd, quote.providers) == (0.1348, ("RunPod", "YottaLabs.ai"))
    cheap = rental_quote(CATALOGUE.find("L4"))
    assert cheap is not None
    assert (cheap.likely_usd, cheap.marketplace_usd) == (0.512, 0.0218)


def test_a_label_of_several_boards_leaves_a_note() -> None:
    """The label "H100 80GB" is SXM or PCIe; Lambda and Crusoe name SXM and join its quote alone."""
    sxm, pcie = (rental_quote(CATALOGUE.find(name)) for name in ("H100 SXM", "H100 PCIe"))
    assert sxm is not None and pcie is not None
    assert not sxm.exact and not pcie.exact
    assert "Crusoe" in sxm.providers and "Crusoe" not in pcie.providers


def test_a_board_no_provider_lists_has_the_catalogues_observation() -> None:
    quote = rental_quote(CATALOGUE.find("RTX A4000"))
    assert quote is not None and (quote.likely_usd, quote.providers) == (0.25, ("RunPod",))
    assert rental_quote(CATALOGUE.find("P6000")) is None


def test_costs_of_a_4090_by_hand() -> None:
    """$2,200, $0.51/h, 450 + 150 W, 50 tok/s, 8 h/day, $0.15/kWh, three years.

    Electricity: 0.6 kW x 0.15 = $0.09 an hour, 243.5 h a month = $21.915.
    Owned: 2200 / 8766 h + 0.09 = $0.340970 an hour.
    A million tokens take 5.5556 h: $2.8333 rented, $1.8943 owned.
    Break-even: 2200 / (0.51 - 0.09) = 5238.1 h = 21.51 months.
    """
    costs = costs_at_2200()
    assert costs.assumptions == DEFAULT_ASSUMPTIONS
    assert costs.running_watts == 600.0
    assert costs.electricity_usd_per_month == pytest.approx(21.915, abs=0.01)
    assert costs.owned_usd_per_hour == pytest.approx(0.340970, abs=1e-6)
    assert costs.usd_per_million_tokens == 2.83
    assert costs.usd_per_million_tokens_owned == 1.89
    assert costs.break_even_hours == pytest.approx(5238.1, abs=0.1)
    assert (costs.break_even_months, costs.cheaper) == (21.5, "own")
    assert (costs.lowest_usd_per_million_tokens, costs.as_of) == (1.89, "2026-08-22")


@pytest.mark.parametrize(
    ("assumed", "months", "cheaper"),
    [
        ({"hours_per_day": 1}, 172.1, "rent"),
        ({"hours_per_day": 4}, 43.0, "rent"),
        ({"hours_per_day": 12}, 14.3, "own"),
        ({"usd_per_kwh": 1.0}, None, "rent"),  # electricity costs more than the rent
    ],
)
def test_occasional_use_rents_and_twelve_hours_a_day_owns(
    assumed: dict[str, float], months: float | None, cheaper: str
) -> None:
    """The guides' rule: 5238.1 h over 30.4375 days of these hours, against three years."""
    costs = costs_at_2200(**assumed)
    assert (costs.break_even_months, costs.cheaper) == (months, cheaper)


def test_the_host_is_paid_for_when_its_price_is_given() -> None:
    """(2200 + 1000) / 0.42 = 7619.0 h."""
    costs = costs_at_2200(host_usd=1000)
    assert costs.break_even_hours == pytest.approx(7619.0, abs=0.1)


def test_the_host_is_written_off_with_the_boards() -> None:
    """$ 2,200 and 1,000 over 3 years of 365.25 days of 8 hours, 8,766 h, are $ 0.365 an hour; 450 W
    of the board and 150 of the host at $ 0.15 are 0.09 more."""
    costs = costs_at_2200(host_usd=1000)
    assert costs.owned_usd_per_hour == pytest.approx(3200 / 8766 + 0.6 * 0.15)


def test_unknown_prices_and_speeds_give_unknown_costs() -> None:
    unpriced = replace(CATALOGUE.find("L40S"), street=None)
    costs = plan_costs(unpriced, 1, None, DEFAULT_ASSUMPTIONS)
    assert costs.buy_usd is None and costs.owned_usd_per_hour is None
    assert costs.usd_per_million_tokens is None and costs.cheaper is None
    assert costs.rent_usd_per_hour == 1.5
    unknown_costs = part(PlacePriceInfo, costs_of("Ascend 910B"))
    known_fields = {name for name, value in unknown_costs.items() if value not in (None, (), [])}
    assert known_fields == {"assumptions", "tokens_per_second"}


@pytest.mark.parametrize(
    "gpu, boards, watts",
    [
        ("4090", 1, 600),
        ("4090", 8, 3750),
        ("4090", 9, 4350),
        ("h100", 8, 10_080),
        ("m2 ultra 192gb", 1, 170),
        ("rtx 4090 laptop", 1, 170),
        ("mi455x", 1, None),
    ],
)
def test_watts_with_the_computer(gpu: str, boards: int, watts: float | None) -> None:
    """150 W for eight cards; 0.8 of the boards in servers (DGX H100: 10.2 kW); 20 W for Macs."""
    assert plan_watts(CATALOGUE.find(gpu), boards) == watts


# What NVIDIA recommends for one card; ours is that size or the next.
RECOMMENDED = {
    "3060 12gb": 550,
    "3070": 650,
    "3080": 750,
    "3090": 750,
    "3090 ti": 850,
    "4060": 550,
    "4070": 650,
    "4070 ti": 700,
    "4080": 750,
    "4090": 850,
    "5070": 650,
    "5070 ti": 750,
    "5080": 850,
    "5090": 1000,
}


@pytest.mark.parametrize("gpu, recommended", RECOMMENDED.items())
def test_one_card_gets_the_supply_its_vendor_recommends(gpu: str, recommended: int) -> None:
    allowed = [size for size in SUPPLY_WATTS if size >= recommended][:2]
    assert power_supply_watts(CATALOGUE.find(gpu), 1) in allowed


def test_supplies_of_several_cards() -> None:
    """Four RTX 3090 limited to 300 W run on 1600 W; at their 350 W they take the next size."""
    card = CATALOGUE.find("3090")
    assert power_supply_watts(card, 4) == 2000
    assert power_supply_watts(replace(card, power_watts=300.0), 4) == 1600
    assert power_supply_watts(CATALOGUE.find("4090"), 8) is None, "no single supply is enough"
    assert power_supply_watts(CATALOGUE.find("h100"), 1) is None, "servers have their own"


@given(
    st.sampled_from(CATALOGUE.gpus),
    st.integers(1, 32),
    st.floats(0.1, 1000),
    st.floats(0.01, 24),
    st.floats(0, 2),
)
def test_break_even_is_where_both_have_cost_the_same(
    gpu: Gpu, boards: int, speed: float, hours: float, usd_per_kwh: float
) -> None:
    given_ = CostAssumptions(hours_per_day=hours, usd_per_kwh=usd_per_kwh)
    costs = plan_costs(gpu, boards, speed, given_)
    after = costs.break_even_hours
    if after is None:
        return
    assert costs.buy_usd and costs.rent_usd_per_hour and costs.electricity_usd_per_hour is not None
    owned = costs.buy_usd + after * costs.electricity_usd_per_hour
    assert owned == pytest.approx(after * costs.rent_usd_per_hour, rel=1e-6)
    assert costs.cheaper == ("own" if after <= given_.lifetime_hours else "rent")


def test_a_computer_that_is_paid_for_is_counted() -> None:
    codes = [note.code for note in costs_of("4090", host_usd=900).notes()]
    assert codes == ["power_is_rated"]


CARD = load_catalogue().find("4090")


def test_own_prices_replace_those_on_record() -> None:
    own = CostAssumptions(gpu_usd=1000.0, gpu_usd_per_hour=0.25)
    costs = plan_costs(CARD, 2, 100.0, own, TODAY)
    assert (costs.buy_usd, costs.rent_usd_per_hour) == (2000.0, 0.5)
    assert costs.buy_as_of is None and costs.similar is None
    # 0.5 USD an hour for 360,000 tokens.
    assert costs.usd_per_million_tokens == pytest.approx(1.39)
    document = part(PlacePriceInfo, costs)
    assert (document["buy_basis"], document["rent_is_own"]) == ("own", True)
    assert not any(note.code.startswith(("price_of", "price_is")) for note in costs.notes())


def test_one_own_price_leaves_the_other_on_record() -> None:
    on_record = plan_costs(CARD, 1, None, CostAssumptions(), TODAY)
    bought = plan_costs(CARD, 1, None, CostAssumptions(gpu_usd=0.0), TODAY)
    assert bought.buy_usd == 0 and bought.rent == on_record.rent
    rented = plan_costs(CARD, 1, None, CostAssumptions(gpu_usd_per_hour=0.0), TODAY)
    assert rented.rent_usd_per_hour == 0 and rented.buy == on_record.buy


def test_other_gpus_keep_their_prices() -> None:
    own = CostAssumptions(hours_per_day=3, gpu_usd=1.0, gpu_usd_per_hour=1.0)
    assert own.has_own_prices
    assert own.without_own_prices == CostAssumptions(hours_per_day=3)
    assert not replace(own, gpu_usd=None, gpu_usd_per_hour=None).has_own_prices


def test_minutes_by_hand() -> None:
    """140 GB: 40 s from 3.5 GB/s, 1,120 s over 1 Gbit/s."""
    times = load_times(140 * 10**9, 3.5, 1.0)
    assert times.disk_minutes == pytest.approx(40 / 60, rel=1e-2)
    assert times.download_minutes == pytest.approx(1120 / 60, rel=1e-2)
    faster = load_times(140 * 10**9, 7.0, 10.0)
    assert faster.disk_minutes == pytest.approx(20 / 60, rel=1e-2)
    assert faster.download_minutes == pytest.approx(112 / 60, rel=1e-2)
