"""The data of pictures agrees with the answers that it is taken from."""

from __future__ import annotations

import pytest

from gpusizer.fit.study import Study
from gpusizer.usecases.figures.memory import (
    capacities,
    context_curves,
    context_points,
    few_levels,
    place_curves,
)
from gpusizer.usecases.figures.speeds import user_speeds
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


@pytest.mark.parametrize("gpu, users", [("rtx-4060-8gb", 1), ("a100-sxm-80gb", 4)])
def test_speeds_are_those_of_the_place_with_so_many_users(gpu: str, users: int) -> None:
    """Each point of a curve equals the answer to a request of that many users."""
    asked = {"model": "Qwen/Qwen3-8B", "quant": "q5_k_m", "gpu": gpu, "engine": "llama.cpp"}
    place = size(embedded_sizer(), {**asked, "concurrency": users}).ranking[0]
    (speed,) = user_speeds([place]) or (None,)
    if speed is None:
        assert int(place.most_users or 0) < 2
        return
    assert speed.most_users == int(place.most_users or 0) == speed.rates[-1][0]
    for count, rate in speed.rates[:: max(1, len(speed.rates) // 3)]:
        told = size(embedded_sizer(), {**asked, "concurrency": count}).ranking[0]
        assert told.fit.estimate.quant.slug == "q5_k_m"
        assert told.user_rate is not None
        assert rate.likely == pytest.approx(told.user_rate.likely, rel=1e-6)


def test_the_curve_of_a_place_ends_where_it_surely_fits() -> None:
    place = size(embedded_sizer(), {"model": "Qwen/Qwen3-8B", "gpu": "3060 12gb"}).ranking[0]
    (curve,) = place_curves([place, place])
    last, card_bytes = curve.points[-1], place.fit.gpu.device_free_bytes
    assert last.x == place.longest_context
    assert card_bytes - 256 * 2**20 < last.y <= card_bytes


@pytest.mark.parametrize("max_users", [16, 1000])
def test_users_end_at_the_schedulers_limit(max_users: int) -> None:
    """Curves end at the requested limit, or before it where the memory is full; so do tables."""
    request = {"model": "Qwen/Qwen3-8B", "quant": "native", "gpu": "h100-sxm-80gb"}
    report = size(embedded_sizer(), {**request, "max_num_seqs": max_users})
    (speed,) = user_speeds([report.ranking[0]])
    most_users = int(report.ranking[0].most_users or 0)
    assert speed.rates[-1][0] == speed.most_users == most_users
    assert most_users == 16 if max_users == 16 else 16 < most_users < 1000


def test_each_data_rank_has_the_requested_limit() -> None:
    """Four ranks that schedule 16 sequences each are drawn, and serve, up to 64 users."""
    request = {"model": "Qwen/Qwen3-30B-A3B", "quant": "bf16", "gpu": "h100 sxm", "engine": "vllm"}
    more = {"expert_parallel": 4, "tensor_parallel": 1, "max_num_seqs": 16}
    best = size(embedded_sizer(), {**request, **more}).ranking[0]
    (speed,) = user_speeds([best])
    assert speed.rates[-1][0] == speed.most_users == best.most_users == 64
    assert best.speeds is not None and best.speeds.serving_users == 64
