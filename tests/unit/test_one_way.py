"""Every door tells the same way to run a model on the same boards."""

from __future__ import annotations

import pytest

from gpusizer.fit.advice.policies import POLICIES
from tests.each import each
from tests.nightly import paired, some
from tests.one_way import DOORS, FAMOUS, GPUS, ranking, tiers_agree
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()


@each("number, model", list(enumerate(FAMOUS)))
def test_every_door_tells_one_way(number: int, model: str) -> None:
    """The boards of the ranking, or one board of a GPU that it leaves out, asked about at every
    door: quantization, engine, boards, verdict, bytes and speed."""
    ranked = ranking(SIZER, model)
    for gpu in some(GPUS, of=6, start=number):
        boards = ranked[gpu].boards if gpu in ranked else 1
        told = {door: ask(SIZER, model, gpu, boards) for door, ask in DOORS.items()}
        if gpu in ranked:
            told["ranking"] = ranked[gpu]
        different = {way for way in told.values() if way is not None}
        assert len(different) == 1, (model, gpu, told)


@each("model, order", paired(FAMOUS[:3], sorted({*POLICIES} - {"fastest"})))
def test_orders_sort_the_same_places(model: str, order: str) -> None:
    assert ranking(SIZER, model, order) == ranking(SIZER, model)


@pytest.mark.parametrize("model", FAMOUS[:2])
def test_the_fastest_order_weighs_faster_ways_on_the_same_cards(model: str) -> None:
    assert ranking(SIZER, model, "fastest").keys() == ranking(SIZER, model).keys()


@pytest.mark.parametrize("model", FAMOUS[:4])
def test_the_devices_of_a_tier_are_confirmed(model: str) -> None:
    tiers_agree(SIZER, model)
