"""Own prices of a board, and the minutes to load weights: figures by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from gpusizer.answers.gpu_json import price_json
from gpusizer.cli.money import price_cell, rent_cell
from gpusizer.fit.recommendation import firm_usd_per_hour
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.costs import CostAssumptions, load_times, plan_costs

CARD = load_catalogue().find("4090")
TODAY = date(2026, 11, 22)


def test_own_prices_replace_those_on_record() -> None:
    own = CostAssumptions(gpu_usd=1000.0, gpu_usd_per_hour=0.25)
    costs = plan_costs(CARD, 2, 100.0, own, TODAY)
    assert (costs.buy_usd, costs.rent_usd_per_hour) == (2000.0, 0.5)
    assert costs.buy_as_of is None and costs.market == () and costs.similar is None
    # 0.5 USD an hour for 360,000 tokens.
    assert costs.usd_per_million_tokens == pytest.approx(1.39)
    document = price_json(costs)
    assert (document["buy_basis"], document["rent_is_own"]) == ("own", True)
    assert not any(note.code.startswith(("price_of", "price_is")) for note in costs.notes())


def test_one_own_price_leaves_the_other_on_record() -> None:
    on_record = plan_costs(CARD, 1, None, CostAssumptions(), TODAY)
    bought = plan_costs(CARD, 1, None, CostAssumptions(gpu_usd=0.0), TODAY)
    assert bought.buy_usd == 0 and bought.rent == on_record.rent
    rented = plan_costs(CARD, 1, None, CostAssumptions(gpu_usd_per_hour=0.0), TODAY)
    assert rented.rent_usd_per_hour == 0 and rented.buy == on_record.buy


def test_own_prices_are_named_in_cells_and_in_the_score() -> None:
    """Of a board without a price on record, the reader's own is what owning it costs."""
    own = plan_costs(CARD, 2, None, CostAssumptions(gpu_usd=1000.0, gpu_usd_per_hour=0.25), TODAY)
    assert price_cell(own) == "2,000 (your price)"
    assert rent_cell(own) == "0.50 (your price)"
    unpriced = replace(CARD, market=(), launch=None)
    assumed = CostAssumptions(gpu_usd=1000.0, gpu_usd_per_hour=9.0)
    bought = plan_costs(unpriced, 1, None, assumed, TODAY)
    assert firm_usd_per_hour(unpriced, bought) == (bought.owned_usd_per_hour, False)


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
