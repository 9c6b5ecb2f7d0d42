"""Choices and their order, by hand: five made-up cards and a model of round numbers.

The model has 10,000,324,000 parameters: 20.0 GB in BF16, 10.6 GB less its norms in Q8_0, 5.6 GB in
Q4_0. Ten thousand tokens of its cache take 40 layers x 2 x 8 heads x 125 x 2 bytes = 1.6 GB each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.measurements import load_profile
from gpusizer.advice.parallelism_plans import run_plans
from gpusizer.advice.quant_tradeoff import quant_tradeoff
from gpusizer.advice.ranking import rank_gpus
from gpusizer.core.units import GB, GIB
from gpusizer.fit.division import split_for
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_config, best_on_boards
from gpusizer.fit.recommendation import score_of
from gpusizer.fit.requirements import Requirements
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import enumerate_configs, judged
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.gpus.catalogue import Catalogue
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs
from gpusizer.gpus.gpu import Price
from gpusizer.gpus.purpose import purpose_of
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.quality.quality import WORDS, LossWord
from gpusizer.serving.replicas import ServingTarget
from gpusizer.serving.serving_plan import plan_serving
from gpusizer.usecases.requests.selection import select_quants
from tests.builders import llama

# further preferences of one person at home are held by the last tests
LISTED = replace(load_catalogue().find("rtx-4090-24gb"), segment="workstation")
QUANTS = ("bf16", "q8_0", "q4_0")


def model(**sizes: int) -> ModelProfile:
    round_sizes = {"layers": 40, "hidden": 4000, "heads": 32, "kv_heads": 8, "head_dim": 125}
    return build_profile(llama(**{**round_sizes, "ffn": 16_000, "vocab": 90_000, **sizes}))


def card(name: str, gb: float, usd: float | None, gb_s: int, **facts: Any) -> Gpu:
    """Return a catalogue card with other decimal GB, US dollars and GB/s."""
    street = None if usd is None else Price(usd, "street", "made up", "2026-09")
    memory = {"memory_bytes": round(gb * GB), "torch_memory_bytes": None}
    bandwidth = {"bandwidth_bytes_per_second": gb_s * GB}
    own = {"street": street, "launch": None, "rent": None, **memory, **bandwidth, **facts}
    return replace(LISTED, slug=name, name=name, **own)


CARDS = (
    card("small", 12, 300, 400),
    card("wide", 24, 900, 1000),
    card("slow", 24, 600, 500),
    card("large", 48, 4000, 1000),
    card("unpriced", 96, None, 2000),
)
SMALL, WIDE, SLOW, LARGE, UNPRICED = CARDS


def study(
    *quants: str, profile: ModelProfile | None = None, users: int = 1, **requirements: Any
) -> Study:
    pairs = [(find_quant(slug), slug == "bf16") for slug in quants or QUANTS]
    workload = Workload(context=10_000, concurrency=users)
    return Study(profile or model(), workload, pairs, requirements=Requirements(**requirements))


def order(rank_by: str, cards: Sequence[Gpu] = CARDS, *quants: str, **asked: Any) -> list[str]:
    """Names, boards and quantizations of a ranking."""
    places = rank_gpus(study(*quants), Catalogue(tuple(cards)), rank_by, 0, **asked).places
    return [f"{p.fit.count} {p.fit.gpu.slug} {p.fit.estimate.quant.slug}" for p in places]


def chosen(config: RunConfig | None) -> tuple[str, int, str] | None:
    return config and (config.estimate.quant.slug, config.boards, config.verdict.value)


def test_of_two_that_are_as_fast_the_one_that_a_command_starts_is_chosen() -> None:
    """GPTQ in 8 bits has to be calibrated first, and comes before Q6_K in the table.

    MXFP4 cannot be made here, and GPTQ in 4 bits needs a script.
    """
    machine = Machine.with_boards(WIDE, 1)
    one = study("gptq-int8-g128", "q6_k")
    assert chosen(best_config(one, machine)) == ("q6_k", 1, "fits")
    assert chosen(best_config(study("gptq-int8-g128"), machine)) == ("gptq-int8-g128", 1, "fits")
    many = study("mxfp4", "gptq-int4-g128", users=6)
    assert chosen(best_config(many, machine)) == ("gptq-int4-g128", 1, "fits")


def test_the_model_is_of_round_numbers() -> None:
    assert model().parameters == 10**10 + 324_000
    assert model().kv_cache_bytes_per_token == 160_000


SMALL_1, WIDE_1, SLOW_1 = "1 small q4_0", "1 wide q8_0", "1 slow q8_0"
LARGE_1, UNPRICED_1 = "1 large bf16", "1 unpriced bf16"


@pytest.mark.parametrize(
    "rank_by, expected",
    [
        # 12, 24, 24, 48, 96 GB; of two with 24 GB the faster
        ("smallest", [SMALL_1, WIDE_1, SLOW_1, LARGE_1, UNPRICED_1]),
        # $300, $600, $900, $4,000, unknown
        ("cheapest", [SMALL_1, SLOW_1, WIDE_1, LARGE_1, UNPRICED_1]),
        # GB/s for 7.2 GB of weights and cache in the fewest bits; of two the one of less memory
        ("fastest", [f"1 {name} q4_0" for name in ("unpriced", "wide", "large", "slow", "small")]),
        # GB that are left: 74, 25, 12, 12, 4
        ("headroom", [UNPRICED_1, LARGE_1, WIDE_1, SLOW_1, SMALL_1]),
    ],
)
def test_orders(rank_by: str, expected: list[str]) -> None:
    assert order(rank_by) == expected
    assert order(rank_by, CARDS[::-1]) == expected, "whatever the catalogue begins with"


def test_what_costs_the_same_goes_by_memory_and_then_by_speed() -> None:
    """The largest is the fastest as well: a speed before the memory would put it first."""
    cards = [card("a", 48, 600, 3000), card("b", 24, 600, 500), card("c", 24, 600, 1000)]
    assert order("cheapest", cards) == ["1 c q8_0", "1 b q8_0", "1 a bf16"]


def test_all_boards_are_paid_for() -> None:
    """BF16 takes two cards of 24 GB, which cost $1,800, or one of 48 GB for $1,500."""
    cards = [card("pair", 24, 900, 1000), card("one", 48, 1500, 1000)]
    assert order("cheapest", cards, "bf16") == ["1 one bf16", "2 pair bf16"]


def test_what_may_run_out_of_memory_comes_last_in_every_order() -> None:
    """A cheap and fast card has what is likely needed, but not what may be."""
    needed = best_on_boards(study("q4_0"), SMALL).estimate.per_gpu.total
    between = (needed.likely + needed.high) / 2 / GB
    tight = card("tight", between, 100, 9000)
    for rank_by in ("smallest", "cheapest", "fastest"):
        assert order(rank_by, [tight, SMALL], "q4_0", most_boards=[1, 1]) == [
            "1 small q4_0",
            "1 tight q4_0",
        ]
    config = best_config(study("q4_0"), Machine.with_boards(tight, 1))
    assert (config.verdict, config.headroom_bytes > 0) == (Verdict.TIGHT, True)


def test_one_board_comes_before_more_bits() -> None:
    """Two cards of 24 GB hold BF16 as vLLM runs it, one holds Q8_0; who has two gets BF16."""
    assert chosen(best_on_boards(study(), WIDE)) == ("q8_0", 1, "fits")
    assert chosen(best_on_boards(study(), WIDE, (2,))) == ("bf16", 2, "fits")
    assert chosen(best_on_boards(study("bf16"), WIDE)) == ("bf16", 2, "fits")


@pytest.mark.parametrize(("users", "boards", "engine"), [(4, 1, "llama.cpp"), (5, 2, "vllm")])
def test_more_than_four_users_have_an_engine_for_servers(
    users: int, boards: int, engine: str
) -> None:
    """Five caches of 1.6 GB and Q4_0 lie in one card of 24 GB, the 20 GB of BF16 on two of them; a
    Mac, which no such engine runs on, keeps its own.
    """
    config = best_on_boards(study("bf16", "q4_0", users=users), WIDE)
    assert (config.boards, config.estimate.engine.slug) == (boards, engine)
    mac = load_catalogue().find("apple-m3-max-128gb")
    assert best_on_boards(study("q4_0", users=users), mac).estimate.engine.slug == "llama.cpp"


def test_a_tenth_of_the_card_is_left_before_more_bits_are_taken() -> None:
    """Q8_0 takes 12.5 GB: of 13.8 GB a tenth is left neither above nor below by accident."""
    needed = best_on_boards(study("q8_0"), WIDE).estimate.per_gpu.total.likely
    for spare, quant in ((0.11, "q8_0"), (0.09, "q4_0")):
        gpu = card("spare", needed / (1 - spare) / GB, 500, 1000)
        assert chosen(best_on_boards(study(), gpu)) == (quant, 1, "fits")
    # Where nothing leaves so much, the more faithful one is taken.
    needed = best_on_boards(study("q4_0"), WIDE).estimate.per_gpu.total.likely
    narrow = card("narrow", needed * 1.08 / GB, 500, 1000)
    assert chosen(best_on_boards(study(), narrow)) == ("q4_0", 1, "fits")


def test_what_surely_fits_comes_before_more_bits_that_may_not() -> None:
    total = best_on_boards(study("q8_0"), WIDE).estimate.per_gpu.total
    between = card("between", (total.likely + total.high) / 2 / GB, 500, 1000)
    assert chosen(best_on_boards(study("q8_0"), between, (1,))) == ("q8_0", 1, "tight")
    assert chosen(best_on_boards(study(), between)) == ("q4_0", 1, "fits")


def test_a_second_board_comes_before_more_loss_than_asked_for() -> None:
    """Q4_0 of a model of 10B loses about 5 %: it fits one card of 12 GB, Q8_0 two of them."""
    rank = study().loss_rank(best_on_boards(study("q4_0"), SMALL).estimate)
    assert rank == LossWord.SMALL.rank
    assert chosen(best_on_boards(study(), SMALL)) == ("q4_0", 1, "fits")
    strict = study(max_loss=LossWord.VERY_SMALL)
    assert chosen(best_on_boards(strict, SMALL)) == ("q8_0", 2, "fits")
    # Where nothing else fits, the least loss does.
    assert chosen(best_on_boards(strict, SMALL, (1,))) == ("q4_0", 1, "fits")
    # One card is enough for it, where a second would leave a tenth free.
    needed = best_on_boards(study("q4_0"), WIDE).estimate.per_gpu.total.likely
    narrow = card("narrow", needed * 1.08 / GB, 500, 1000)
    lossy = study("q4_0", max_loss=LossWord.NONE)
    assert chosen(best_on_boards(lossy, narrow)) == ("q4_0", 1, "fits")
    none_fits = study("q4_0", "q2_k", max_loss=LossWord.NONE)
    assert chosen(best_on_boards(none_fits, SMALL)) == ("q4_0", 1, "fits")


def test_speed_counts_until_one_reads_in_comfort() -> None:
    """BF16, Q8_0 and Q4_0 give 35, 66 and 102 tokens/s at 1000 GB/s, 18, 33 and 52 at 450 GB/s, and
    4, 8 and 13 at 100 GB/s: 20 are enough, below them the nearest is taken."""
    by_speed = {3000: "bf16", 1000: "bf16", 450: "q8_0", 100: "q4_0"}
    for gb_s, quant in by_speed.items():
        assert chosen(best_on_boards(study(), card("c", 48, 600, gb_s)))[0] == quant, gb_s
    least = study(min_tok_s=5.0), study(min_tok_s=60.0)
    assert [chosen(best_on_boards(s, LARGE))[0] for s in least] == ["bf16", "q8_0"]


def test_with_a_part_in_system_memory_fewest_bits_are_read() -> None:
    tiny = card("tiny", 5, 100, 400)
    config = best_config(study(), Machine.with_boards(tiny, 1, ram_bytes=64 * GB))
    assert chosen(config) == ("q4_0", 1, "offload")


def test_of_what_does_not_fit_the_nearest_is_shown() -> None:
    """Without system memory, a GB holds less than a quarter of any: Q4_0 lacks least."""
    config = best_config(study(), Machine.with_boards(card("none", 1, 100, 400), 1))
    assert chosen(config) == ("q4_0", 1, "does_not_fit")
    assert config.headroom_bytes == 1 * GB - config.estimate.per_gpu.total.likely


def test_boards_that_a_fabric_joins_train_together() -> None:
    """BF16 takes two cards of 24 GB at 165 TFLOPS, which are 330 where a fabric joins them, else
    165, or one of 48 GB at 240."""
    facts = {"interconnect": "NVLink", "interconnect_bytes_per_second": 9e11}
    linked = card("linked", 24, 900, 1000, **facts, interconnect_domain=8)
    apart = card("apart", 24, 900, 1000, **facts, interconnect_domain=1)
    single = card("single", 48, 900, 1000, **facts, fp16_tensor_flops=2.4e14, bf16_flops=2.4e14)
    assert {purpose_of(gpu).training for gpu in (linked, apart, single)} == {"several_boards"}
    expected = ["2 linked bf16", "1 single bf16", "2 apart bf16"]
    assert order("training", [single, apart, linked], "bf16") == expected


def test_announced_cards_and_forbidden_counts_are_left_out() -> None:
    announced = card("announced", 24, 1, 9000, status="announced")
    assert order("cheapest", [announced, SLOW]) == [SLOW_1]
    assert order("cheapest", [SMALL, WIDE], "bf16", most_boards=[1, 2]) == ["2 wide bf16"]
    ranking = rank_gpus(study(), Catalogue(CARDS), "fastest", 2, min_tok_s=60.0)
    assert [p.fit.gpu.slug for p in ranking.places] == ["unpriced", "wide"]
    assert ranking.slower == 2


@pytest.mark.parametrize(
    "heads, kv_heads, expected",
    [
        (32, 8, Split(8, 1)),
        (32, 4, Split(8, 1)),  # each key head is there twice, as Qwen3-30B-A3B's on eight H100
        (32, 1, Split(8, 1)),
        (24, 6, Split(2, 4)),  # 6 heads go to 2 ranks alone
        (24, 3, Split(1, 8)),
        (12, 4, Split(4, 2)),  # 12 heads do not divide by 8
        (20, 20, Split(4, 2)),
    ],
)
def test_eight_devices_by_heads(heads: int, kv_heads: int, expected: Split) -> None:
    profile = model(heads=heads, kv_heads=kv_heads, head_dim=64, hidden=4096, ffn=8192)
    assert split_for(ENGINES["vllm"], profile, 8) == expected
    assert split_for(ENGINES["llama.cpp"], profile, 8) == Split(1, 8)


def said(config: RunConfig | None, of: Study) -> list[str]:
    assert config is not None
    return [note.code for note in quant_tradeoff(of, config)]


def test_a_sentence_says_what_was_weighed() -> None:
    """Q8_0 takes one card of 24 GB where BF16 takes two, and is faster at 450 GB/s."""
    plain = study()
    assert said(best_on_boards(plain, LARGE), plain) == [], "the most faithful was taken"
    assert said(best_on_boards(plain, WIDE), plain) == ["weighed_none", "weighed_boards"]
    config = best_on_boards(plain, card("c", 48, 600, 450))
    assert said(config, plain) == ["weighed_none", "weighed_speed"]
    faster = quant_tradeoff(plain, config)[1].fields
    assert faster["slower"] < 20 <= faster["tokens"]
    strict = study(max_loss=LossWord.NONE)
    assert said(best_on_boards(strict, SMALL, (1,)), strict) == ["beyond_none", "beyond_everything"]


def test_a_ranking_leaves_out_what_loses_more_unless_nothing_else_fits() -> None:
    ranking = rank_gpus(
        study(max_loss=LossWord.NONE), Catalogue((SMALL, WIDE)), "cheapest", 0, most_boards=[1, 1]
    )
    assert [p.fit.gpu.slug for p in ranking.places] == ["wide"]
    assert ranking.lossier == 1
    alone = rank_gpus(
        study(max_loss=LossWord.NONE), Catalogue((SMALL,)), "cheapest", 0, most_boards=[1]
    )
    assert [p.fit.estimate.quant.slug for p in alone.places] == ["q4_0"]
    assert "beyond_none" in {note.code for note in alone.places[0].reasons}


def test_what_is_named_is_obeyed() -> None:
    """In four bits alone a card of 12 GB is enough, whatever is lost."""
    strict = study(max_loss=LossWord.NONE)
    named = strict.with_fixed_quants([(find_quant("q4_0"), False)])
    assert chosen(best_on_boards(named, SMALL)) == ("q4_0", 1, "fits")
    assert said(best_on_boards(named, SMALL), named) == []


@pytest.mark.parametrize(
    "model_id", ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-32B"]
)
@pytest.mark.parametrize(
    "slug, boards", [("rtx-3060-12gb", 1), ("rtx-4090-24gb", 2), ("gtx-1060-6gb", 1)]
)
def test_a_stricter_word_never_yields_a_lossier_way(model_id: str, slug: str, boards: int) -> None:
    """And none loses more than its word where any other that fits does not."""
    profile = load_profile(model_id)
    pairs = select_quants(("all",), profile).shown
    machine = Machine.with_boards(load_catalogue().find(slug), boards)
    ranks = []
    for word in WORDS:
        asked = Study(profile, Workload(), pairs, requirements=Requirements(word))
        config = best_config(asked, machine)
        ranks.append(asked.loss_rank(config.estimate))
        if config.verdict.all_on_gpu and ranks[-1] > word.rank:
            every = (
                w for usual in (True, False) for w in enumerate_configs(asked, machine, usual=usual)
            )
            fitting = [asked.loss_rank(w.estimate) for w in every if w.verdict.all_on_gpu]
            assert min(fitting) == ranks[-1]
    assert ranks == sorted(ranks)


def test_what_surely_fits_with_a_tenth_to_spare_has_room() -> None:
    config = best_on_boards(study("q4_0"), WIDE)
    assert config is not None and config.verdict is Verdict.FITS
    for changes, room in (
        ({"spare_share": 0.1}, True),
        ({"spare_share": 0.09}, False),
        ({"spare_share": 0.1, "verdict": Verdict.TIGHT}, False),
    ):
        costs = plan_costs(WIDE, 1, 30.0, DEFAULT_ASSUMPTIONS)
        assert score_of(replace(config, **changes), 30.0, 20.0, costs).room == room, changes


def test_the_system_keeps_four_gib_of_its_memory() -> None:
    """With one layer on the card the others lie in system memory: not a byte of them may lack."""
    whole, part = study("q4_0"), study("q4_0").with_workload(gpu_layers=1)
    estimate = part.reestimate(best_on_boards(whole, WIDE).estimate)
    assert estimate.host_bytes > 5 * GB
    for lacking, verdict in ((0, Verdict.FITS), (1, Verdict.DOES_NOT_FIT)):
        ram_bytes = estimate.host_bytes + 4 * GIB - lacking
        config = judged(part, Machine.with_boards(WIDE, 1, ram_bytes=ram_bytes), estimate)
        assert config.verdict is verdict
        assert config.missing_bytes == lacking and config.headroom_bytes > 0


def test_memory_that_gpu_and_system_share_holds_both_parts() -> None:
    part = study("q4_0").with_workload(gpu_layers=1)
    estimate = part.reestimate(best_on_boards(study("q4_0"), WIDE).estimate)
    surely = estimate.needed.high + estimate.host_bytes
    for lacking, verdict in ((0, Verdict.FITS), (1, Verdict.TIGHT)):
        shared = replace(WIDE, segment="apple", memory_bytes=surely - lacking)
        assert judged(part, Machine.with_boards(shared), estimate).verdict is verdict


def test_of_plans_that_do_not_fit_the_one_that_lacks_least_is_shown() -> None:
    """20 GB of BF16 on cards of 1 GB: a part of eight is nearer to fitting than one of two."""
    few, small = study("bf16"), card("none", 1, 100, 400)
    plans = run_plans(few, best_config(few, Machine.with_boards(small, 1)), None)
    assert {p.kind: p.boards for p in plans if p.kind in ("tensor", "pipeline")} == {
        "tensor": 8,
        "pipeline": 8,
    }


def test_replicas_on_as_many_boards_are_of_the_more_faithful_quantization() -> None:
    """BF16 takes two cards for a replica, FP8 one. Where a load takes as many cards of either, two
    small replicas are no reason to lose more."""

    def cards_of(rate: float, *quants: str) -> tuple[str, int, int]:
        target = ServingTarget(rate, prompt_tokens=1000, answer_tokens=300, ttft_seconds=None)
        plan = plan_serving(study(*quants), Catalogue((WIDE,)), target, DEFAULT_ASSUMPTIONS)
        (row,) = plan.rows
        return row.estimate.quant.slug, row.boards, row.total_boards

    alike = 0
    for rate in (0.3, 0.5, 0.7):
        faithful, small = cards_of(rate, "bf16"), cards_of(rate, "fp8")
        if small[1] < faithful[1] and small[2] == faithful[2]:
            alike += 1
            assert cards_of(rate, "bf16", "fp8") == faithful
    assert alike
