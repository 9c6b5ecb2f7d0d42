"""The recommendation: its conditions and their order, alternatives, and where it is shown."""

from __future__ import annotations

from datetime import date
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from gpusizer.advice.alternatives import break_even_months
from gpusizer.fit.fit import Verdict
from gpusizer.fit.recommendation import (
    NEVER_OFFERED,
    SPARE_SHARE,
    UNAVAILABLE,
    Score,
    can_be_bought,
    can_be_rented,
    computer_of,
)
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs
from gpusizer.gpus.on_offer import (
    ended_support,
    firm_price,
    is_available,
    is_rented,
    is_sold,
    read_ended_support,
    why_not_on_offer,
)
from gpusizer.text import say_note
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.priced_day import PRICED_DAY, priced_day, set_day
from tests.sizers import embedded_sizer
from tests.training_reports import every_place

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
QWEN_235B = "Qwen/Qwen3-235B-A22B"
MODELS = (LLAMA_8B, LLAMA_70B, "deepseek-ai/DeepSeek-R1", "openai/gpt-oss-20b")
GPUS = {gpu.slug: gpu for gpu in load_catalogue().gpus}


@cache
def report(model: str = LLAMA_8B, **fields: Any) -> Report:
    return size(embedded_sizer(), {"model": model, "top": 0, **fields})


@pytest.mark.parametrize("model", MODELS)
def test_no_later_condition_outweighs_an_earlier_one(model: str) -> None:
    sure = [item.score for item in report(model).ranking if item.fit.verdict is Verdict.FITS]
    assert len(sure) > 20
    assert sure[0].recommendable

    def missed(score: Score) -> tuple[int, bool, bool, bool, bool, int, int, bool]:
        speed = (True, None, False).index(score.fast_enough)
        ended, offered = score.ended_support is not None, score.not_on_offer == ""
        suits = score.suitability
        seen = (not score.room, ended, not offered, score.evidence_place)
        kept_back = 0 if suits.kept_back is None else 1 if score.stands_beside else 2
        return (kept_back, suits.to_be_made, *seen, speed, score.computer != "")

    for better, worse in pairwise(sure):
        assert missed(better) <= missed(worse)
        if missed(better) == missed(worse) and worse.value_usd is not None:
            assert better.value_usd is not None
            assert better.value_usd <= worse.value_usd * 1.01  # speeds are rounded


@pytest.mark.parametrize("users", [1, 16])
def test_what_is_known_of_a_gpu_alone_bounds_its_key(users: int) -> None:
    """GPUs with a greater bound are searched only if others leave places empty."""
    for score in (item.score for item in report(concurrency=users).ranking):
        if not is_available(score.gpu, score.today):
            assert score.key >= UNAVAILABLE
        assert (score.key >= NEVER_OFFERED) is not score.stands_beside


@pytest.mark.parametrize("model", MODELS)
def test_the_first_place_surely_fits_with_a_tenth_to_spare(model: str) -> None:
    fit = report(model).ranking[0].fit
    assert fit.verdict is Verdict.FITS
    assert fit.headroom_bytes >= SPARE_SHARE * fit.gpu.device_torch_memory_bytes * 0.99
    assert firm_price(fit.gpu, PRICED_DAY) or is_rented(fit.gpu)


def test_a_lesser_quantization_makes_room() -> None:
    """For 32k of context an RTX 4090 holds 8B at 16 bits with 6 % to spare: too little, whatever
    the order of the ranking."""
    fields = {"model": LLAMA_8B, "context": 32768, "gpu": "4090"}
    wide = size(embedded_sizer(), {**fields, "quant": "bf16"}).ranking[0].fit.config
    assert wide.verdict is Verdict.FITS and wide.spare_share < SPARE_SHARE
    for rank_by in ("smallest", "recommended"):
        places = report(rank_by=rank_by, context=32768).ranking
        config = next(item.fit.config for item in places if item.fit.gpu.slug == "rtx-4090-24gb")
        assert config.spare_share >= SPARE_SHARE
        assert config.estimate.quant.order > wide.estimate.quant.order


def test_cards_that_software_has_left_behind_are_not_recommended() -> None:
    """A Tesla P100 at $101 is the cheapest to buy; CUDA 13 dropped Pascal."""
    cheapest = report(rank_by="cheapest").ranking[0]
    assert (cheapest.fit.gpu.slug, cheapest.fit.gpu.architecture) == (
        "tesla-p100-pcie-16gb",
        "Pascal",
    )
    ranking = [item for item in report().ranking if item.suitability.kept_back is None]
    ended = [item.rank for item in ranking if item.score.ended_support is not None]
    supported = [item for item in ranking if item.score.ended_support is None and item.score.room]
    assert min(ended) > max(item.rank for item in supported)


def test_every_row_of_ended_support_names_cards_of_the_catalogue() -> None:
    rows = read_ended_support()
    known = {(gpu.software, gpu.architecture) for gpu in GPUS.values()}
    for row in rows:
        assert (row.software, row.architecture) in known
        assert row.source.startswith("https://")
    assert ended_support(GPUS["v100-sxm2-16gb"]) is not None
    assert ended_support(GPUS["rtx-2060-12gb"]) is None, "CUDA 13 runs Turing"


@pytest.mark.parametrize(
    "slug, sold, reason",
    [
        ("rtx-3090-24gb", True, ""),
        ("rtx-4090-24gb", True, ""),
        ("tesla-m40-24gb", False, "too_old"),
        ("rtx-2080-ti-22gb-mod", False, "special"),
        ("titan-rtx-24gb", False, "too_old"),
        ("rubin-r200-288gb", False, "unpriced"),
    ],
)
def test_what_is_sold_today(slug: str, sold: bool, reason: str) -> None:
    assert is_sold(GPUS[slug], PRICED_DAY) is sold
    assert why_not_on_offer(GPUS[slug], PRICED_DAY) == reason


def test_prices_of_more_than_a_year_ago_sell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    set_day(monkeypatch, date(2028, 6, 1))
    first = size(embedded_sizer(), {"model": LLAMA_8B, "top": 1, "rentable": False}).ranking[0]
    assert first.score.not_on_offer == "unpriced"
    assert first.score.usd_per_hour is None
    old = size(embedded_sizer(), {"model": LLAMA_8B, "top": 1, "rank_by": "cheapest"}).ranking[0]
    assert "why_price_old" in [note.code for note in old.why]


def test_slower_plans_are_left_out_only_where_asked() -> None:
    assert any(item.score.fast_enough is False for item in report(LLAMA_70B).ranking)
    asked = report(min_tok_s=60)
    speeds = [item.score.tokens_per_second for item in asked.ranking]
    assert all(speed is None or speed >= 60 for speed in speeds)
    assert len(asked.ranking) < len(report().ranking)
    left_out = [note for note in asked.notes if note.code == "slower_left_out"]
    assert [note.fields["count"] for note in left_out] == [
        len(report().ranking) - len(asked.ranking)
    ]
    assert {item.score.enough for item in asked.ranking} == {60.0}
    assert {item.score.enough for item in report().ranking} == {READING_SPEED}


def test_an_unknown_speed_is_said_and_kept() -> None:
    pictures = report("black-forest-labs/FLUX.1-dev", min_tok_s=60, cpu_offload="model")
    first = pictures.ranking[0]
    assert first.score.fast_enough is None
    codes = [note.code for note in first.why]
    assert "why_speed_unknown" in codes
    assert "why_recommended_but_speed" in codes
    assert "fast enough" not in "; ".join(map(say_note, first.why))


@pytest.mark.parametrize(
    "slug, boards, where",
    [
        ("rtx-3060-12gb", 2, ""),
        ("rtx-3060-12gb", 8, "several"),
        ("jetson-agx-orin-32gb", 1, "module"),
        ("h100-sxm-80gb", 8, ""),
        ("h100-sxm-80gb", 16, "several"),
        ("rtx-a6000-48gb", 8, ""),  # rented with their server
        ("apple-m3-ultra-512gb", 1, ""),
    ],
)
def test_what_goes_into_one_computer(slug: str, boards: int, where: str) -> None:
    assert computer_of(GPUS[slug], boards) == where


@pytest.mark.parametrize("model", (*MODELS, QWEN_235B))
def test_three_alternatives_are_the_extremes_of_their_kind(model: str) -> None:
    sized = report(model)
    alternatives = {alternative.kind: alternative for alternative in sized.alternatives}
    assert list(alternatives) == ["cheapest", "fastest", "rent"]
    sure = [
        item
        for item in sized.ranking
        if item.fit.verdict is Verdict.FITS
        and item.score.ended_support is None
        and item.score.stands_beside
    ]
    prices = [
        price.usd * item.fit.count
        for item in sure
        if (price := firm_price(item.fit.gpu, PRICED_DAY))
        and can_be_bought(item.fit.gpu, item.fit.count, PRICED_DAY)
    ]
    assert alternatives["cheapest"].item.costs.buy_usd == pytest.approx(min(prices))
    offered = [item for item in sure if not item.score.not_on_offer and not item.score.computer]
    speeds = [item.score.tokens_per_second or 0.0 for item in offered]
    fastest = alternatives["fastest"].item.score.tokens_per_second or 0.0
    assert fastest >= max(speeds), "on more boards, or in fewer bits than one prefers"
    rented = [item for item in sure if can_be_rented(item.fit.gpu, item.fit.count)]
    best = [item for item in rented if item.score.meets_conditions] or rented
    known = [rent for item in best if (rent := item.costs.rent_usd_per_hour) is not None]
    assert alternatives["rent"].item.costs.rent_usd_per_hour == pytest.approx(min(known))
    for alternative in alternatives.values():
        assert alternative.is_first is (alternative.item == sized.ranking[0])


@pytest.mark.parametrize("users, enough", [(16, True), (50, True), (1, None)])
def test_the_cheapest_carries_several_users_and_one_at_any_speed(
    users: int, enough: bool | None
) -> None:
    """For 50 users an RX 6800 XT of $316 gave each of them 5 tok/s; for one it may be any card."""
    lengths = {"prompt_tokens": 1000, "answer_tokens": 300, "context": 1300}
    sized = report("Qwen/Qwen3-8B", concurrency=users, **lengths)
    cheapest = sized.alternatives[0]
    bought = [
        item
        for item in sized.ranking
        if item.fit.verdict is Verdict.FITS
        and item.score.ended_support is None
        and item.score.stands_beside
        and can_be_bought(item.fit.gpu, item.fit.count, PRICED_DAY)
        and firm_price(item.fit.gpu, PRICED_DAY)
        and (enough is None or item.score.fast_enough)
    ]
    prices = [item.costs.buy_usd for item in bought if item.costs.buy_usd is not None]
    assert cheapest.item.costs.buy_usd == pytest.approx(min(prices))
    if enough:
        assert cheapest.item.score.fast_enough
        assert "why_too_slow" not in {note.code for note in cheapest.why}


@pytest.mark.parametrize("model", (*MODELS, QWEN_235B, "google/gemma-3-27b-it"))
def test_one_can_act_on_every_alternative_today(model: str) -> None:
    """Alternatives are available today.

    For DeepSeek R1 32 Tesla T4 were the cheapest, and two RTX 3080 of one provider the rent of a
    27B: the one is not built, the other has a single source.
    """
    for alternative in report(model).alternatives:
        score, codes = alternative.item.score, {note.code for note in alternative.why}
        assert alternative.item.fit.verdict is Verdict.FITS
        assert score.ended_support is None
        assert not score.not_on_offer
        assert not score.computer
        assert score.stands_beside
        missed = {note.code for note in score.missed() if "audience" not in note.code}
        assert missed <= {"why_little_room", "why_too_slow", "why_unmeasured", "why_wide_band"}
        assert "why_rent_once" not in codes


def test_an_alternative_says_what_it_misses() -> None:
    """Half the price of the first choice for Qwen3-235B leaves less than a tenth to spare."""
    cheapest = report(QWEN_235B).alternatives[0]
    assert not cheapest.is_first
    assert cheapest.item.costs.buy_usd is not None
    assert cheapest.first.costs.buy_usd is not None
    assert cheapest.item.costs.buy_usd < cheapest.first.costs.buy_usd
    assert "why_little_room" in {note.code for note in cheapest.why}


def test_modules_of_servers_state_their_rent() -> None:
    """An H100 SXM5 has a price to buy, but no computer that one builds takes it."""
    fastest = report("openai/gpt-oss-120b", segment="datacenter").alternatives[1]
    assert fastest.item.fit.gpu.form_factor.startswith("SXM")
    assert fastest.item.costs.buy_usd is not None
    codes = {note.code for note in fastest.why}
    assert "why_rent" in codes
    assert not codes & {"why_price_used", "why_price_new"}
    item = every_place(model="Qwen/Qwen3-8B", method="full").alternatives[1]
    assert "why_rent" in {note.code for note in item.why}


def test_more_cards_than_a_computer_takes_cost_their_rent() -> None:
    """Eight RTX PRO 6000 fill sixteen slots: as one computer they are a rented server."""
    score = next(
        item.score
        for item in report("deepseek-ai/DeepSeek-R1").ranking
        if item.fit.gpu.slug == "rtx-pro-6000-blackwell-96gb"
    )
    assert score.computer == ""
    assert score.rented


def test_what_is_not_to_be_bought_never_breaks_even() -> None:
    rented = report().alternatives[2].item.costs
    card, module = (
        plan_costs(GPUS[slug], 1, None, DEFAULT_ASSUMPTIONS)
        for slug in ("rtx-4060-8gb", "h100-sxm-80gb")
    )
    assert module.buy_usd is not None
    assert break_even_months(GPUS["rtx-4060-8gb"], card, rented) is not None
    assert break_even_months(GPUS["h100-sxm-80gb"], module, rented) is None
