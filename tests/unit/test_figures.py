"""Figures: the data of pictures agrees with the answers it is taken from."""

from __future__ import annotations

import doctest
import json
import time
from dataclasses import replace
from types import ModuleType

import pytest

from gpusizer.figures import memory, users
from gpusizer.figures.memory import capacities, context_curves, context_points, few_levels, stacks
from gpusizer.figures.pictures import Pictures, pictures_of
from gpusizer.figures.prices import Offer, limit, mark_frontier, price_speed
from gpusizer.figures.shapes import Curve, Point, Stack
from gpusizer.figures.users import UserSpeed, user_speed, user_speeds
from gpusizer.report import Report
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def report_of(model: str, **fields: object) -> Report:
    return embedded_sizer().size({"model": model, "top": 0, **fields})


@pytest.fixture(scope="module")
def llama() -> Report:
    return report_of(LLAMA)


def test_a_stack_is_the_likely_total(llama: Report) -> None:
    for stack, row in zip(stacks(llama.estimates), llama.estimates, strict=True):
        assert stack.total_bytes == row.estimate.all_gpus.total.likely
        assert stack.label == row.estimate.quant.name


@pytest.mark.parametrize("model", [LLAMA, "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-R1"])
def test_a_curve_says_what_a_request_of_that_context_says(model: str) -> None:
    report = report_of(model)
    rows = few_levels(report.estimates)
    curves = context_curves(report, rows)
    assert [curve.points[0].x for curve in curves] == [1] * len(rows)
    for place in (0, 6, -1):
        tokens = int(curves[0].points[place].x)
        asked = report_of(model, context=tokens)
        totals = {row.estimate.quant.slug: row.estimate for row in asked.estimates}
        for curve, row in zip(curves, rows, strict=True):
            like = totals[row.estimate.quant.slug]
            assert curve.points[place].y == like.all_gpus.total.likely


def test_three_curves_take_less_than_a_tenth_of_a_second(llama: Report) -> None:
    rows = few_levels(llama.estimates)
    assert [row.estimate.quant.slug for row in rows] == ["bf16", "q8_0", "q4_k_m"]
    best = 1.0
    for _ in range(5):  # the machine may be busy; the best of several says what it costs
        start = time.perf_counter()
        context_curves(llama, rows)
        best = min(best, time.perf_counter() - start)
    assert best < 0.1


def test_a_curve_ends_at_the_longest_context(llama: Report) -> None:
    places = context_points(131_072)
    assert 12 <= len(places) <= 16
    assert (places[0], places[-1]) == (1, 131_072)
    assert context_points(1) == (1,)
    curves = context_curves(llama, few_levels(llama.estimates))
    assert {curve.points[-1].x for curve in curves} == {llama.profile.max_context}


def test_models_without_a_context_have_no_curve() -> None:
    report = report_of("black-forest-labs/FLUX.1-dev")
    assert context_curves(report, few_levels(report.estimates)) == ()


def test_a_quantized_checkpoint_has_no_wider_levels() -> None:
    rows = few_levels(report_of("openai/gpt-oss-20b").estimates)
    assert rows[0].estimate.native
    assert all(row.estimate.quant.bits < rows[0].estimate.quant.bits for row in rows[1:])


def test_boards_hold_what_they_hold_together() -> None:
    gpu = embedded_sizer().catalogue.find("4090")
    one, two = capacities([(gpu, 1), (gpu, 2)])
    assert one.label == gpu.name
    assert two.label == f"2 × {gpu.name}"
    assert two.memory_bytes == 2 * one.memory_bytes == 2 * gpu.memory_bytes


def test_nothing_cheaper_than_the_frontier_is_as_fast(llama: Report) -> None:
    for kind in ("buy", "rent"):
        found = price_speed(llama.ranking, kind)
        prices = [offer.price_usd for offer in found.offers]
        assert prices == sorted(prices)
        for offer in found.offers:
            beaten = any(
                other.price_usd <= offer.price_usd
                and other.tokens_per_second >= offer.tokens_per_second
                for other in found.offers
                if other is not offer
            )
            assert offer.frontier or beaten
            cheaper = [o for o in found.offers if o.price_usd < offer.price_usd]
            if offer.frontier:
                assert all(o.tokens_per_second < offer.tokens_per_second for o in cheaper)


def test_a_picture_ends_before_a_wide_gap_of_prices() -> None:
    def ends(*prices: float) -> float:
        return limit(mark_frontier(Offer(str(p), "", p, p) for p in prices))

    assert ends(100, 200, 300, 40_000) == 450
    assert ends(100, 200, 300, 400) == 400
    assert ends(100, 9000) == 9000  # too few to be left alone
    assert ends() == 0


def test_speeds_are_asked_for_up_to_the_full_pool() -> None:
    found = user_speed(lambda n: 100.0 * n / (n + 10), 40, "H100")
    assert found.pool_users == 40
    assert [found.total.points[i].x for i in (0, -1)] == [1, 40]
    for total, each in zip(found.total.points, found.per_user.points, strict=True):
        assert each.y == pytest.approx(total.y / total.x)
    known = user_speed(lambda n: None if n > 2 else 5.0, 4, "", full=False)
    assert [point.x for point in known.total.points] == [1, 2]
    assert known.pool_users is None
    assert user_speed(lambda n: 1.0, 0, "").total.points == ()


@pytest.mark.parametrize(("most", "pool"), [(16, False), (1000, True)])
def test_users_end_where_the_scheduler_was_told_to(most: int, pool: bool) -> None:
    """At the limit asked for, or before it at the full pool, which alone is marked."""
    asked = {"model": "Qwen/Qwen3-8B", "quant": "native", "gpu": "h100-sxm-80gb"}
    made = embedded_sizer().size({**asked, "max_num_seqs": most})
    (curve,) = user_speeds(made, [made.ranking[0].fit])
    held = int(made.ranking[0].fit.max_concurrency or 0)
    assert curve.total.points[-1].x == min(most, held)
    assert curve.pool_users == (held if pool else None)


def test_each_data_rank_has_the_limit_asked_for() -> None:
    """Four ranks that schedule 16 sequences each are drawn, and serve, up to 64 users."""
    asked = {"model": "Qwen/Qwen3-30B-A3B", "quant": "bf16", "gpu": "h100 sxm", "engine": "vllm"}
    more = {"expert_parallel": 4, "tensor_parallel": 1, "max_num_seqs": 16}
    best = (made := embedded_sizer().size({**asked, **more})).ranking[0]
    (curve,) = user_speeds(made, [best.fit])
    assert (curve.total.points[-1].x, curve.pool_users) == (64, None)
    assert best.speeds is not None and best.speeds.serving_users == 64


def test_figures_survive_json(llama: Report) -> None:
    boards = [(embedded_sizer().catalogue.find("3090"), 2)]
    made = pictures_of(llama, llama.estimates[:2], boards)
    assert Pictures.from_json(json.loads(json.dumps(made.to_json()))) == made
    speeds = user_speed(float, 3, "x")
    assert UserSpeed.from_json(json.loads(json.dumps(speeds.to_json()))) == speeds
    curve = Curve((Point(1, 2.5),), "y")
    assert Curve.from_json(curve.to_json()) == curve
    stack = replace(made.stacks[0], label="z")
    assert Stack.from_json(stack.to_json()) == stack


@pytest.mark.parametrize("module", [memory, users], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
