"""Ranking: GPUs that fit come first, each policy orders by its figure, and every place says why."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice.ranking import Ranked, rank_gpus
from gpusizer.core.units import GIB
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.division import COUNTS, max_boards, split_for
from gpusizer.fit.fit import Verdict
from gpusizer.fit.study import Study
from gpusizer.gpus import Catalogue, Price, load_catalogue
from gpusizer.gpus.purpose import purpose_of, training_flops
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.text import say_note
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.request import RANKINGS
from tests.asking import compare, size
from tests.documents import written
from tests.nightly import paired
from tests.sizers import embedded_sizer

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
SIZER = embedded_sizer()


def report_of(model: str = LLAMA_8B, **fields: Any) -> Report:
    return size(SIZER, {"model": model, **fields})


def place_of(gpu: str, sized: Report) -> Ranked:
    return next(item for item in sized.ranking if item.fit.gpu.slug == gpu)


@pytest.mark.parametrize(
    ("gpu", "awq_runs"),
    [
        ("v100-sxm2-16gb", False),
        ("tesla-t4-16gb", True),
        ("rtx-3090-24gb", True),
        ("instinct-mi210-64gb", True),
    ],
)
def test_awq_starts_with_turing_and_gptq_with_volta(gpu: str, awq_runs: bool) -> None:
    # AutoAWQ's README names capability 7.5, vLLM's table of hardware has no AWQ for Volta.
    card, vllm = load_catalogue().find(gpu), ENGINES["vllm"]
    assert runs_on(find_quant("awq-int4-g128"), vllm, card) is awq_runs
    assert runs_on(find_quant("gptq-int4-g128"), vllm, card)


def test_each_card_gets_an_engine_that_runs_on_it() -> None:
    sized = report_of(top=0)
    engines = {
        "rtx-4090-24gb": "llama.cpp",  # of one person at home
        "rtx-6000-ada-48gb": "vllm",
        "apple-m3-max-128gb": "mlx",
        "quadro-p6000-24gb": "llama.cpp",
        "rx-6900-xt-16gb": "llama.cpp",
    }
    for gpu, engine in engines.items():
        assert place_of(gpu, sized).fit.estimate.engine.slug == engine
    for item in sized.ranking:
        assert runs_on(item.fit.estimate.quant, item.fit.estimate.engine, item.fit.gpu)


def test_announced_cards_are_not_recommended_but_can_be_named() -> None:
    assert not [i for i in report_of(top=0).ranking if i.fit.gpu.status == "announced"]
    ranking = report_of(gpu="rubin-r200-288gb").ranking
    assert ranking[0].fit.gpu.status == "announced"


def test_two_dies_do_not_pool_their_memory() -> None:
    """An MI250X is two devices of 64 GB: 16-bit 70B needs two boards, four devices."""
    sized = report_of("meta-llama/Llama-3.3-70B-Instruct", gpu="MI250X", quant="bf16")
    fit = sized.ranking[0].fit
    assert fit.estimate.split.gpus == fit.count * 2
    assert fit.estimate.per_gpu.total.likely <= fit.gpu.device_memory_bytes


def test_a_quantized_checkpoint_is_not_offered_wider_than_it_is() -> None:
    sized = report_of("deepseek-ai/DeepSeek-R1", top=0)
    slugs = {item.fit.estimate.quant.slug for item in sized.ranking}
    assert slugs and not slugs & {"fp32", "bf16", "q8_0"}
    stored = report_of("deepseek-ai/DeepSeek-R1", quant="native", top=0)
    assert place_of("h200-sxm-141gb", stored).fit.count == 8
    assert place_of("h200-sxm-141gb", stored).fit.estimate.quant.slug == "fp8"


def test_a_named_gpu_is_answered_even_where_nothing_fits() -> None:
    item = report_of("deepseek-ai/DeepSeek-R1", gpu="3070", gpu_count=1).ranking[0]
    assert item.fit.verdict is Verdict.DOES_NOT_FIT
    assert item.fit.headroom_bytes < -200 * GIB
    assert item.reasons[0].code == "verdict_does_not_fit"


def test_a_model_slightly_too_large_can_offload() -> None:
    item = report_of("Qwen/Qwen3-32B", gpu="1x 4060 Ti 16GB", quant="q4_k_m").ranking[0]
    assert item.fit.verdict is Verdict.OFFLOAD
    note = next(n for n in item.reasons if n.code == "layers_that_fit")
    assert 0 < int(note.fields["layers"]) < 65 == note.fields["of_layers"]
    output = report_of(
        "Qwen/Qwen3-32B", gpu="1x 4060 Ti 16GB", quant="q4_k_m", gpu_layers=note.fields["layers"]
    ).ranking[0]
    assert output.fit.verdict is Verdict.FITS
    one_more = report_of(
        "Qwen/Qwen3-32B",
        gpu="1x 4060 Ti 16GB",
        quant="q4_k_m",
        gpu_layers=int(note.fields["layers"]) + 1,
    ).ranking[0]
    assert one_more.fit.verdict is not Verdict.FITS
    everything = output.fit.estimate.sizes.total + 64 * 8192 * 2 * 1024 * 2
    assert int(note.fields["ram_bytes"]) == everything - sum(
        amount.likely
        for amount in (output.fit.estimate.per_gpu.weights, output.fit.estimate.per_gpu.kv_cache)
    )


def test_a_mixture_can_leave_its_experts_in_system_memory() -> None:
    """As few layers as possible keep them there; a plan leaves all of them."""
    item = report_of("Qwen/Qwen3-30B-A3B", gpu="1x 4060 Ti 16GB", quant="q4_k_m").ranking[0]
    assert item.fit.verdict is Verdict.OFFLOAD
    note = next(n for n in item.reasons if n.code == "some_experts_in_memory")
    spared = report_of("Qwen/Qwen3-30B-A3B", gpu="1x 4060 Ti 16GB", quant="q4_k_m", cpu_moe=True)
    fit = spared.ranking[0].fit
    assert fit.verdict is Verdict.FITS
    every_expert = fit.estimate.sizes.total - fit.estimate.per_gpu.weights.likely
    assert 0 < int(note.fields["ram_bytes"]) < every_expert
    plan = next(plan for plan in item.plans if plan.kind == "offload_experts")
    assert plan.ram_bytes == every_expert


def test_requested_parallelism_is_used() -> None:
    item = report_of(gpu="4090", tensor_parallel=2).ranking[0]
    assert (item.fit.count, item.fit.estimate.split) == (2, Split(tensor=2))


@pytest.mark.parametrize(
    "engine, gpus, split",
    [
        ("vllm", 1, Split()),
        ("vllm", 8, Split(tensor=8)),
        ("vllm", 16, Split(tensor=8, pipeline=2)),
        ("llama.cpp", 4, Split(pipeline=4)),
        ("mlx", 2, None),
    ],
)
def test_engines_divide_models_their_own_way(engine: str, gpus: int, split: Split | None) -> None:
    profile = report_of(top=1).profile
    assert split_for(ENGINES[engine], profile, gpus) == split


def test_laptops_and_macs_stay_alone() -> None:
    by_slug = {gpu.slug: gpu for gpu in SIZER.catalogue.gpus}
    assert max_boards(by_slug["rtx-4090-laptop-16gb"]) == 1
    assert max_boards(by_slug["apple-m2-ultra-192gb"]) == 1
    assert max_boards(by_slug["rtx-4090-24gb"]) == 8
    assert max_boards(by_slug["h100-sxm-80gb"]) == COUNTS[-1]


def test_eight_bridged_cards_talk_over_pcie_and_the_answer_says_so_once() -> None:
    """A bridge joins two RTX 3090: the reasons and the line of why agree beyond them."""
    for boards, code in ((2, "why_fabric"), (8, "why_pcie")):
        (place,) = report_of(gpu=f"{boards}x3090", quant="bf16").ranking
        assert code in [note.code for note in place.why]
        warned = "no_fast_interconnect" in [note.code for note in place.reasons]
        assert warned is (code == "why_pcie")


BY_PRICE = ("cheapest", "tokens_per_dollar")
BY_FIGURE = [r for r in RANKINGS if r not in ("recommended", "training", "inference")]


def report(**fields: Any) -> Report:
    return size(SIZER, {"model": LLAMA_8B, "top": 0, **fields})


def figure(item: Ranked, rank_by: str) -> float | None:
    """Return the figure by which a policy orders, least first, computed from the answer."""
    costs, gpu = item.costs, item.fit.gpu
    speed = costs.tokens_per_second
    match rank_by:
        case "smallest":
            return float(gpu.memory_bytes * item.fit.count)
        case "cheapest":
            return costs.buy_usd
        case "fastest":
            return None if item.user_rate is None else -item.user_rate.likely
        case "cheapest_to_run":
            rented, owned = costs.usd_per_million_tokens, costs.usd_per_million_tokens_owned
            return least(rented, owned, costs.buy_is_doubted)
        case "cheapest_per_hour":
            return least(costs.rent_usd_per_hour, costs.owned_usd_per_hour, costs.buy_is_doubted)
        case "tokens_per_dollar":
            return None if not costs.buy_usd or not speed else costs.buy_usd / speed
        case "tokens_per_watt":
            watts = costs.running_watts
            return None if watts is None or not speed else watts / speed
    devices = item.fit.count * gpu.devices_per_board
    return float(-item.fit.headroom_bytes * devices)


def least(rented: float | None, owned: float | None, is_doubted: bool) -> float | None:
    """Return the lesser cost; one on a doubted price replaces an unknown rent only."""
    if is_doubted and rented is not None:
        return rented
    return min((usd for usd in (rented, owned) if usd is not None), default=None)


def stands_on_a_doubted_price(item: Ranked, rank_by: str) -> bool:
    """Whether only a doubted price to buy says the figure that a policy orders by."""
    costs = item.costs
    if rank_by in ("cheapest_to_run", "cheapest_per_hour"):
        return costs.buy_is_doubted and costs.rent_usd_per_hour is None
    return costs.buy_is_doubted and rank_by in ("cheapest", "tokens_per_dollar")


@pytest.mark.parametrize("rank_by, users", paired(BY_FIGURE, [1, 16]))
def test_policies_sort_by_their_figure(rank_by: str, users: int) -> None:
    """Speeds and costs are shown with three digits, the order is exact: ties within 1 %. Of users
    at once it is what they are served, prompts read in between."""
    ranking = report(rank_by=rank_by, concurrency=users).ranking
    sure = [item for item in ranking if item.fit.verdict is Verdict.FITS]
    figures = [figure(item, rank_by) for item in sure]
    known_figures = [value for value in figures if value is not None]
    assert len(known_figures) > 20
    assert figures[: len(known_figures)] == known_figures, "what is unknown comes last"
    doubted = [stands_on_a_doubted_price(item, rank_by) for item in sure[: len(known_figures)]]
    assert doubted == sorted(doubted), "what is doubted comes after what is well known"
    firm = len(doubted) - sum(doubted)
    for part in (known_figures[:firm], known_figures[firm:]):
        assert part == pytest.approx(sorted(part), rel=0.01)


@pytest.mark.parametrize("rank_by, priced", paired(RANKINGS, [True, False]))
def test_no_order_goes_by_an_estimate(rank_by: str, priced: bool) -> None:
    """An estimate of a dollar changes no place, also without a known price."""
    profile = size(SIZER, {"model": LLAMA_8B, "top": 1}).profile
    study = Study(profile, Workload(), [(find_quant("q4_k_m"), False)])
    estimate = Price(1.0, "similar", "3 similar boards", "2026-09", low_usd=1.0, high_usd=1.0)
    orders = []
    for similar in (None, estimate):
        gpus = tuple(
            gpu if priced and gpu.buy else replace(gpu, street=None, launch=None, similar=similar)
            for gpu in load_catalogue().gpus[::4]
        )
        ranking = rank_gpus(study, Catalogue(gpus), rank_by, 0).places
        orders.append([(item.fit.gpu.slug, item.fit.count, item.why) for item in ranking])
        assert (ranking[0].costs.similar is None) or not priced or rank_by not in BY_PRICE
    assert orders[0] == orders[1] and len(orders[0]) > 30


def test_a_doubted_price_is_never_first() -> None:
    """MLU370-X8 at a doubted $6,500 would come before many boards of its memory."""
    places = [item for item in report(rank_by="cheapest").ranking if item.costs.buy_usd is not None]
    first_doubted = next(place for place, item in enumerate(places) if item.costs.buy_is_doubted)
    fits = [item for item in places if item.fit.verdict is Verdict.FITS]
    assert first_doubted >= sum(not item.costs.buy_is_doubted for item in fits)


def test_training_sorts_by_level_then_throughput() -> None:
    """One MI300X (1,307 TFLOPS) before one H100 (989), before any card without a fabric."""
    ranking = report(rank_by="training").ranking
    places = {item.fit.gpu.slug: item.rank for item in ranking}
    assert places["instinct-mi300x-192gb"] < places["h100-sxm-80gb"] < places["a100-sxm-80gb"]
    assert places["v100-sxm2-32gb"] < places["rtx-a6000-48gb"] < places["rtx-4090-24gb"]
    assert places["rtx-4090-24gb"] < places["rtx-a4000-16gb"] < places["quadro-p6000-24gb"]
    large = [
        item
        for item in ranking
        if purpose_of(item.fit.gpu).training == "several_boards"
        and item.fit.verdict is Verdict.FITS
    ]
    rates = [(training_flops(item.fit.gpu) or math.nan) * item.fit.count for item in large]
    assert rates == sorted(rates, reverse=True)


def test_inference_sorts_by_fitness_then_cost_per_token() -> None:
    ranking = report(rank_by="inference").ranking
    places = {item.fit.gpu.slug: item.rank for item in ranking}
    assert places["rtx-3090-24gb"] < places["h100-sxm-80gb"], "waste, for one user"
    assert places["h100-sxm-80gb"] < places["rtx-a4000-16gb"] < places["quadro-p6000-24gb"]


def test_many_users_are_served_at_the_speed_of_all() -> None:
    one_user, many_users = (
        report(gpu="4090", quant="q8_0", concurrency=n).ranking[0] for n in (1, 8)
    )
    assert many_users.speeds is not None and many_users.speeds.total is not None
    assert many_users.served is not None
    assert many_users.costs.tokens_per_second == many_users.served.output_tokens_per_second.likely
    assert (
        one_user.decode is not None and one_user.costs.tokens_per_second == one_user.decode.likely
    )
    assert one_user.decode.likely < many_users.speeds.total.likely < 8 * one_user.decode.likely


def test_a_place_says_why_in_one_line() -> None:
    """Headroom in bytes, tok/s, the figure of the policy, and the interconnect of several GPUs."""
    item = next(
        ranked_item
        for ranked_item in report(rank_by="cheapest", quant="q8_0", engine="llama.cpp").ranking
        if ranked_item.fit.gpu.slug == "rtx-4090-24gb"
    )
    assert item.decode is not None and item.costs.buy is not None
    assert (item.costs.buy.usd, item.costs.buy.date) == (2634.25, "2026-09")
    spare = float(f"{item.fit.headroom_bytes / 1e9:.3g}")
    assert "; ".join(map(say_note, item.why)) == (
        f"fits in GGUF Q8_0 with {spare:g} GB to spare on each GPU;"
        f" {item.decode.likely:g} tok/s for each user; $2,634 to buy (used, 2026-09);"
        " figures from $2,362 to $4,100;"
        " no NVLink or similar, so don't plan to scale out"
    )


def test_cost_assumptions_reach_ranked_and_named_gpus() -> None:
    fields = {"hours_per_day": 4, "usd_per_kwh": 0.4, "amortisation_years": 2, "host_usd": 900}
    speeds = {"disk_gb_per_s": 7, "network_gbit_per_s": 10}
    fields |= {"gpu_usd": None, "gpu_usd_per_hour": None, **speeds}
    for sized in (report(top=1, **fields), report(gpu="4090", **fields)):
        price = written(sized)["ranking"][0]["price"]
        assert price["assumptions"] == fields
        assert written(sized)["workload"]["costs"] == fields
    compared = written(compare(SIZER, {"gpus": ["4090"], "model": LLAMA_8B, **fields}))
    assert compared["gpus"][0]["fit"]["price"]["assumptions"] == fields
