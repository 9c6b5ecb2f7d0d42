"""Every door tells the same way to run a model on the same boards."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from gpusizer.advice.policies import POLICIES
from gpusizer.advice.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.ui.page.answering import answer, compare, pictures
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from tests.asking import size
from tests.nightly import paired, some
from tests.one_way import (
    DOORS,
    FAMOUS,
    GPUS,
    PLACES,
    of_place,
    places_of_ranking,
    ranking,
    tiers_agree,
)
from tests.pages import ENGLISH, Page
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()


@pytest.mark.parametrize("number, model", list(enumerate(FAMOUS)))
def test_every_door_tells_one_way(number: int, model: str) -> None:
    """The boards of the ranking, or one board of a GPU that it leaves out, asked about at every
    door: quantization, engine, boards, verdict, bytes and speed."""
    ranked = ranking(SIZER, model)
    for gpu in some(GPUS, of=6, start=number):
        boards = ranked[gpu].boards if gpu in ranked else 1
        told = {door: ask(SIZER, model, gpu, boards) for door, ask in DOORS.items()}
        if gpu in ranked:
            told["ranking"] = ranked[gpu]
        different = {config for config in told.values() if config is not None}
        assert len(different) == 1, (model, gpu, told)


@pytest.mark.parametrize("model", FAMOUS)
def test_every_door_tells_one_context_and_one_number_of_users(model: str) -> None:
    """Context and users that surely fit one board, and in the ranking of all if it runs alike."""
    ranked = places_of_ranking(SIZER, model)
    for gpu in GPUS:
        places = {door: ask(SIZER, model, gpu, 1) for door, ask in PLACES.items()}
        named, other = places["--gpu"], ranked.get(gpu)
        if named and other and of_place(named) == of_place(other):
            places["ranking"] = other
        told = {
            (place["max_context"], place["max_concurrency"])
            for place in places.values()
            if place is not None and place["verdict"] in ("fits", "tight")
        }
        assert len(told) <= 1, (gpu, places)


@pytest.mark.parametrize("model, gpu", list(zip(FAMOUS, GPUS, strict=True)))
def test_the_page_and_the_sentence_tell_what_the_ranking_does(model: str, gpu: str) -> None:
    fields = {"model": model, "gpu": gpu, "card": False}
    report = size(SIZER, fields)
    (place,), facts = report.ranking, report.conclusion.facts
    shown = answer(SIZER, PageState.from_query(urlencode({"model": model, "gpu": gpu})))
    text = Page(answer_html(shown, ENGLISH)).text
    assert facts["max_context"] == place.longest_context
    assert facts["max_concurrency"] == place.most_users
    if place.decode is not None:
        assert facts["tokens_per_second"] == place.decode.likely
        assert ENGLISH.rate(place.decode.likely) in text
    if place.fit.verdict is Verdict.FITS and place.longest_context is not None:
        assert ENGLISH.whole(place.longest_context) in text


@pytest.mark.parametrize("users", [1, 4])
@pytest.mark.parametrize("model, gpu", list(zip(FAMOUS, GPUS, strict=True)))
def test_tables_charts_and_answers_tell_the_same_numbers(model: str, gpu: str, users: int) -> None:
    """Headline, side by side, chart and tiles tell the context, the users and the speed of `size`;
    the models tab is among the doors above."""
    query = {"model": model, "gpu": gpu, "concurrency": users}
    report = size(SIZER, {**query, "card": False})
    place, facts = report.ranking[0], report.conclusion.facts
    context, most = place.longest_context, place.most_users
    assert (facts["max_context"], facts["max_concurrency"]) == (context, most)
    if place.fit.verdict is not Verdict.FITS or context is None or most is None:
        return
    state = PageState.from_query(urlencode(query))
    beside = Page(side_by_side_html(compare(SIZER, state), (gpu,), "", ENGLISH)).text
    assert f"{int(most):,}" in beside
    assert users > 1 or f"{context:,} tokens" in beside
    drawn = pictures(SIZER, state)
    assert drawn.users or drawn.curves[0].points[-1].x == context
    for speed in drawn.users:
        assert speed.most_users in (None, int(most))
        assert users > most or dict(speed.rates)[users] == place.user_rate
    for tier in answer(SIZER, state).tiers:
        for other in tier.best.values():
            if same_way(other, place):
                assert (other.longest_context, other.most_users) == (context, most)
                assert other.user_rate == place.user_rate


def same_way(one: Ranked, other: Ranked) -> bool:
    """Whether two places are one quantization under one engine on the same boards."""
    configs = [
        (fit.gpu.slug, fit.count, fit.estimate.quant.slug, fit.estimate.engine.slug)
        for fit in (one.fit, other.fit)
    ]
    return configs[0] == configs[1]


@pytest.mark.parametrize("model, order", paired(FAMOUS[:3], sorted({*POLICIES} - {"fastest"})))
def test_orders_sort_the_same_places(model: str, order: str) -> None:
    assert ranking(SIZER, model, order) == ranking(SIZER, model)


@pytest.mark.parametrize("model", FAMOUS[:2])
def test_the_fastest_order_weighs_faster_ways_on_the_same_cards(model: str) -> None:
    assert ranking(SIZER, model, "fastest").keys() == ranking(SIZER, model).keys()


@pytest.mark.parametrize("model", FAMOUS[:4])
def test_the_devices_of_a_tier_are_confirmed(model: str) -> None:
    tiers_agree(SIZER, model)
