"""The data of pictures agrees with the answers that it is taken from."""

from __future__ import annotations

import pytest

from gpusizer.fit.study import Study
from gpusizer.usecases.figures.memory import (
    Point,
    capacities,
    context_curves,
    context_points,
    few_levels,
    stacks,
)
from gpusizer.usecases.figures.speeds import (
    Offer,
    limit,
    mark_frontier,
    price_speed,
    user_speed,
    user_speeds,
)
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.counting import steps_of
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def report_of(model: str, **fields: object) -> Report:
    return size(embedded_sizer(), {"model": model, "top": 0, **fields})


def study_of(report: Report) -> Study:
    pairs = [(row.estimate.quant, row.estimate.native) for row in report.estimates]
    return Study(report.profile, report.workload, pairs)


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
    curves = context_curves(study_of(report), rows)
    assert [curve.points[0].x for curve in curves] == [1] * len(rows)
    for place in (0, 6, -1):
        tokens = int(curves[0].points[place].x)
        report_at_context = report_of(model, context=tokens)
        totals = {row.estimate.quant.slug: row.estimate for row in report_at_context.estimates}
        for curve, row in zip(curves, rows, strict=True):
            like = totals[row.estimate.quant.slug]
            assert curve.points[place].y == like.all_gpus.total.likely


def test_three_curves_take_few_steps(llama: Report) -> None:
    """About 50,000 steps suffice, because weights are not sized again for every point."""
    rows = few_levels(llama.estimates)
    assert [row.estimate.quant.slug for row in rows] == ["bf16", "q8_0", "q4_k_m"]
    study = study_of(llama)
    assert steps_of(lambda: context_curves(study, rows)) < 75_000


def test_a_curve_ends_at_the_longest_context(llama: Report) -> None:
    places = context_points(131_072)
    assert 12 <= len(places) <= 16
    assert (places[0], places[-1]) == (1, 131_072)
    assert context_points(1) == (1,)
    curves = context_curves(study_of(llama), few_levels(llama.estimates))
    assert {curve.points[-1].x for curve in curves} == {llama.profile.max_context}


def test_models_without_a_context_have_no_curve() -> None:
    report = report_of("black-forest-labs/FLUX.1-dev")
    assert context_curves(study_of(report), few_levels(report.estimates)) == ()


def test_a_quantized_checkpoint_has_no_wider_levels() -> None:
    rows = few_levels(report_of("openai/gpt-oss-20b").estimates)
    assert rows[0].estimate.native
    assert all(row.estimate.quant.bits < rows[0].estimate.quant.bits for row in rows[1:])


def test_memory_of_boards_is_summed() -> None:
    gpu = embedded_sizer().catalogue.find("4090")
    single, two = capacities([(gpu, 1), (gpu, 2)])
    assert single.label == gpu.name
    assert two.label == f"2 × {gpu.name}"
    assert two.memory_bytes == 2 * single.memory_bytes == 2 * gpu.memory_bytes


def test_nothing_cheaper_than_the_frontier_is_as_fast(llama: Report) -> None:
    for kind in ("buy", "rent"):
        price_data = price_speed(llama.ranking, kind)
        prices = [offer.price_usd for offer in price_data.offers]
        assert prices == sorted(prices)
        for offer in price_data.offers:
            beaten = any(
                other_offer.price_usd <= offer.price_usd
                and other_offer.tokens_per_second >= offer.tokens_per_second
                for other_offer in price_data.offers
                if other_offer is not offer
            )
            assert offer.frontier or beaten
            cheaper = [o for o in price_data.offers if o.price_usd < offer.price_usd]
            if offer.frontier:
                assert all(o.tokens_per_second < offer.tokens_per_second for o in cheaper)


def test_a_picture_ends_before_a_wide_gap_of_prices() -> None:
    def ends(*prices: float) -> float:
        return limit(mark_frontier(Offer(str(p), "", p, p) for p in prices))

    assert ends(100, 200, 300, 40_000) == 450
    assert ends(100, 200, 300, 400) == 400
    assert ends(100, 9000) == 9000  # too few to be left alone
    assert ends() == 0


def test_speeds_are_computed_up_to_the_full_pool() -> None:
    speeds = user_speed(lambda n: (100.0 * n / (n + 10), 0.1 * n), 40, "H100")
    assert speeds.pool_users == 40
    assert [speeds.total.points[i].x for i in (0, -1)] == [1, 40]
    for total, per_user in zip(speeds.total.points, speeds.per_user.points, strict=True):
        assert per_user.y == pytest.approx(total.y / total.x)
    assert speeds.first_token.points[-1] == Point(40, 4.0)
    # rate^2 / users = 10,000 n / (n + 10)^2, the most at 10 users
    assert speeds.knee == Point(10, 50.0)
    partial_speeds = user_speed(lambda n: None if n > 2 else (5.0 * n, None), 4, "", full=False)
    assert [point.x for point in partial_speeds.total.points] == [1, 2]
    assert partial_speeds.pool_users is None and partial_speeds.knee is None
    assert partial_speeds.first_token.points == ()
    assert user_speed(lambda n: (1.0, 1.0), 0, "").total.points == ()


@pytest.mark.parametrize(("max_users", "pool"), [(16, False), (1000, True)])
def test_users_end_at_the_schedulers_limit(max_users: int, pool: bool) -> None:
    """Curves end at the requested limit, or before it at the full pool, which is marked."""
    request = {"model": "Qwen/Qwen3-8B", "quant": "native", "gpu": "h100-sxm-80gb"}
    report = size(embedded_sizer(), {**request, "max_num_seqs": max_users})
    (curve,) = user_speeds(study_of(report), [report.ranking[0].fit])
    pool_users = int(report.ranking[0].fit.max_concurrency or 0)
    assert curve.total.points[-1].x == min(max_users, pool_users)
    assert curve.pool_users == (pool_users if pool else None)


def test_each_data_rank_has_the_requested_limit() -> None:
    """Four ranks that schedule 16 sequences each are drawn, and serve, up to 64 users."""
    request = {"model": "Qwen/Qwen3-30B-A3B", "quant": "bf16", "gpu": "h100 sxm", "engine": "vllm"}
    more = {"expert_parallel": 4, "tensor_parallel": 1, "max_num_seqs": 16}
    best = (report := size(embedded_sizer(), {**request, **more})).ranking[0]
    (curve,) = user_speeds(study_of(report), [best.fit])
    assert (curve.total.points[-1].x, curve.pool_users) == (64, None)
    assert best.speeds is not None and best.speeds.serving_users == 64
