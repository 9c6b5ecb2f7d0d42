"""Prices to buy: medians, spreads and ages by hand, and what cards say of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.gpus import Gpu, Price, load_catalogue
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs
from gpusizer.gpus.purchase import PurchaseOffer, is_old, last_day, street_price

CATALOGUE = load_catalogue()
TODAY = date(2026, 11, 22)


def offer(provider: str, usd: float, when: str = "2026-09-01", **facts: object) -> PurchaseOffer:
    base = PurchaseOffer("used", usd, when, False, provider, f"https://{provider}.example")
    return replace(base, **facts)  # type: ignore[arg-type]


def card(*offers: PurchaseOffer, **facts: object) -> Gpu:
    """Return an RTX 4090 with these offers alone."""
    return replace(CATALOGUE.find("4090"), street=street_price(offers), **facts)


def priced(*offers: PurchaseOffer) -> Price:
    price = street_price(offers)
    assert price is not None
    return price


def test_the_price_is_the_median_of_sources_and_the_spread_that_of_figures() -> None:
    """A counts as 200, the median of its three; between A, B 300 and C 1,000 lies 300."""
    listings = [offer("A", usd) for usd in (100.0, 200.0, 900.0)]
    price = priced(*listings, offer("B", 300.0), offer("C", 1000.0))
    assert (price.usd, price.low_usd, price.high_usd) == (300.0, 100.0, 1000.0)
    assert (price.providers, price.source) == (("A", "B", "C"), "A, B, C")
    assert (price.basis, price.condition) == ("street", "used")
    assert len(price.addresses) == 3


def test_two_sources_meet_in_the_middle() -> None:
    assert priced(offer("A", 100.0), offer("B", 251.0)).usd == 175.5


def test_figures_of_more_than_120_days_before_the_newest_do_not_count() -> None:
    """3 May is 120 days before 31 August, and 2 May 121; a month counts to its last day."""
    price = priced(
        offer("A", 500.0, "2026-08"),
        offer("B", 300.0, "2026-05-03"),
        offer("C", 1.0, "2026-05-02"),
    )
    assert (price.usd, price.low_usd, price.date) == (400.0, 300.0, "2026-08")


def test_weak_figures_count_for_boards_that_have_nothing_else() -> None:
    doubted = offer("A", 50.0, weak=True)
    price = priced(doubted, offer("B", 400.0, condition="new"))
    assert (price.condition, price.usd, price.low_usd) == ("new", 400.0, 400.0)
    assert priced(doubted).usd == 50.0


def test_the_cheaper_condition_counts_unless_its_figures_are_stale() -> None:
    fresh = [offer("A", 500.0), offer("B", 700.0, condition="new")]
    assert priced(*fresh).condition == "used"
    stale = [offer("A", 500.0, "2026-01"), offer("B", 700.0, condition="new")]
    assert priced(*stale).condition == "new"


def test_no_offers_make_no_price() -> None:
    assert street_price([]) is None


@given(
    st.lists(
        st.builds(
            offer,
            st.sampled_from("ABCD"),
            st.floats(20, 1e5),
            st.dates(date(2024, 1, 1), date(2026, 12, 31)).map(date.isoformat),
            condition=st.sampled_from(["new", "used", "system"]),
            weak=st.booleans(),
        ),
        min_size=1,
        max_size=12,
    ),
    st.randoms(),
)
def test_prices_hold_their_laws(offers: list[PurchaseOffer], shuffle: object) -> None:
    """Within the spread, of figures of its condition, and the same in any order of the rows."""
    price = priced(*offers)
    assert price.low_usd is not None and price.high_usd is not None
    assert price.low_usd - 0.01 <= price.usd <= price.high_usd + 0.01
    of_condition = {each.usd for each in offers if each.condition == price.condition}
    assert {price.low_usd, price.high_usd} <= of_condition
    mixed = list(offers)
    shuffle.shuffle(mixed)  # type: ignore[attr-defined]
    assert priced(*mixed) == price


@pytest.mark.parametrize(
    ("text", "last"),
    [("2026", "2026-12-31"), ("2024-02", "2024-02-29"), ("2026-09-05", "2026-09-05")],
)
def test_dates_reach_to_their_last_day(text: str, last: str) -> None:
    assert last_day(text).isoformat() == last


@pytest.mark.parametrize(
    "text, old",
    [
        ("2025-11-22", False),
        ("2025-11-21", True),
        ("2025-11", False),
        ("2025", False),
        ("2024", True),
    ],
)
def test_more_than_a_year_is_old(text: str, old: bool) -> None:
    """365 days before 22 November 2026 is 22 November 2025."""
    assert is_old(text, TODAY) is old


def test_break_even_goes_by_the_price_that_counts() -> None:
    """$700 used, $1,400 new: 700 / (0.51 rent - 0.09 electricity) = 1,666.7 hours."""
    gpu = card(offer("A", 700.0), offer("B", 1400.0, condition="new"))
    costs = plan_costs(gpu, 1, 10.0, DEFAULT_ASSUMPTIONS, TODAY)
    assert costs.break_even_hours == pytest.approx(1666.7, abs=0.1)


def test_a_doubted_price_yields_to_rent_where_both_are_known() -> None:
    """$50 would own a 4090 for less than a cent an hour; the doubted price does not count."""
    doubted = card(offer("A", 50.0, weak=True), launch=None, price_is_doubted=True)
    costs = plan_costs(doubted, 1, 10.0, DEFAULT_ASSUMPTIONS)
    assert costs.owned_usd_per_hour is not None and costs.rent_usd_per_hour is not None
    assert costs.owned_usd_per_hour < costs.lowest_usd_per_hour == costs.rent_usd_per_hour
