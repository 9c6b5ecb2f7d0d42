"""Training: requests, and the report that answers them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice.policies import in_order
from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.fit import Verdict
from gpusizer.gpus.costs.power import is_whole_computer
from gpusizer.speed.rate import Rate
from gpusizer.training.fit import most_boards
from gpusizer.training.plan import TrainingPlan, alone, with_precision
from gpusizer.training.ranking import POLICIES, RankedTraining
from gpusizer.ui.presenters.training import bar_of
from gpusizer.usecases.requests.training_request import TrainingRequest
from tests.training_reports import CARDS, answer, as_json


def plan_of(fields: dict[str, Any]) -> TrainingPlan:
    request = TrainingRequest.from_fields(fields)
    return with_precision(alone(request.plan), given="precision" in request.given)


def test_defaults_are_visible() -> None:
    request = TrainingRequest.from_fields({"model": "org/model", "gpu": "", "lora_rank": None})
    assert (request.given, request.gpus, request.gpu_count) == ((), (), None)
    assert request.plan.method == "lora"
    assert (request.plan.sequence_length, request.plan.micro_batch) == (2048, 1)
    assert request.plan == TrainingPlan()


@pytest.mark.parametrize(
    "field, value, parsed",
    [
        ("method", "QLoRA", "qlora"),
        ("gradient_checkpointing", True, "full"),
        ("gradient_checkpointing", "off", "none"),
        ("precision", "bf16-true", "bf16"),
        ("precision", "bf16 compute, fp32 params", "mixed"),
        ("optimizer", "AdamW", "adamw"),
        ("lora_targets", "q_proj, v_proj", ("q_proj", "v_proj")),
        ("fused_loss", "true", True),
        ("sequence_length", "8,192", 8192),
        ("offload", "cpu", "model"),
        ("micro_batch", 2.0, 2),
        ("framework", "LitGPT", "litgpt"),
        ("framework_version", "v4.46.2", "v4.46.2"),
    ],
)
def test_spellings(field: str, value: Any, parsed: Any) -> None:
    assert getattr(TrainingRequest.from_fields({field: value}).plan, field) == parsed


@pytest.mark.parametrize(
    "field, value, reason",
    [
        ("method", "magic", "not_one_of"),
        ("sequence_length", 0, "out_of_range"),
        ("sequence_length", "long", "not_an_integer"),
        ("fused_loss", "perhaps", "not_a_boolean"),
        ("precision", "fp3", "not_one_of"),
        ("optimizer", 5, "not_text"),
        ("optimizer", "nosuch", "not_one_of"),
        ("framework", "notone", "not_one_of"),
        ("framework_version", "latest", "not_a_version"),
        ("framework_version", 4.46, "not_text"),
        ("lora_targets", {"q": 1}, "not_a_list"),
        ("epochs", "many", "not_a_number"),
        ("epochs", 0, "out_of_range"),
        ("nonsense", 1, "unknown_field"),
        ("model", "x" * 301, "too_long"),
        ("sharding", "zero9", "not_one_of"),
        ("lora_targets", ["a"] * 65, "out_of_range"),
        ("micro_batch", True, "not_an_integer"),
    ],
)
def test_refusals_name_the_field(field: str, value: Any, reason: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        TrainingRequest.from_fields({field: value})
    assert (caught.value.fields["field"], caught.value.fields["reason"]) == (field, reason)


def test_galore_is_full_training_with_its_optimizer() -> None:
    plan = plan_of({"method": "galore"})
    assert (plan.method, plan.optimizer) == ("full", "galore_adamw")
    assert plan_of({"method": "galore", "optimizer": "galore_adamw_8bit"}).optimizer == (
        "galore_adamw_8bit"
    )


def test_a_split_brings_its_gpus() -> None:
    assert plan_of({"tensor_parallel": 4}).gpus == 4
    plan = plan_of({"gpu_count": 8, "tensor_parallel": 2, "context_parallel": 2})
    assert (plan.data_parallel, plan.shards, plan.tokens) == (2, 4, 1024)
    with pytest.raises(InvalidRequest, match="cannot_be_split"):
        plan_of({"gpu_count": 6, "tensor_parallel": 4})


def test_precision_follows_the_sharding_unless_given() -> None:
    full = {"method": "full", "gpu_count": 8}
    assert plan_of({**full, "sharding": "zero3"}).precision == "master"
    assert plan_of({**full, "sharding": "fsdp"}).precision == "mixed"
    assert plan_of({**full, "sharding": "fsdp", "precision": "bf16"}).precision == "bf16"
    assert plan_of({"sharding": "zero3", "gpu_count": 8}).precision == "bf16"  # adapters
    assert plan_of({"sharding": "fsdp"}).sharding == "none"  # nothing to divide over


def test_a_derived_precision_is_derived_anew() -> None:
    zero = plan_of({"method": "full", "gpu_count": 8, "sharding": "zero3"})
    changes = {"lora": {"method": "lora"}, "fsdp": {"sharding": "fsdp"}, "ddp": {"sharding": "ddp"}}
    plans = {name: zero.changed(**values) for name, values in changes.items()}
    derived = {name: with_precision(p, given=False).precision for name, p in plans.items()}
    assert derived == {"lora": "bf16", "fsdp": "mixed", "ddp": "bf16"}
    assert {with_precision(p, given=True).precision for p in plans.values()} == {"master"}


def test_a_library_with_versions_of_its_own_needs_a_date() -> None:
    """TRL 0.12 is no version of transformers; 4.46 and 2024-11 are understood."""
    for version in ("4.46", "2024-11"):
        fields = {"framework": "trl", "framework_version": version}
        assert TrainingRequest.from_fields(fields).plan.framework == "transformers-4.48"
    with pytest.raises(InvalidRequest) as caught:
        TrainingRequest.from_fields({"framework": "trl", "framework_version": "0.12"})
    assert caught.value.fields["reason"] == "date_needed"
    assert caught.value.fields["framework"] == "transformers"


def test_whole_computers_train_alone_and_described_cards_in_a_machine() -> None:
    """No ranking tells of eight laptops; the reader's own price has no date."""
    boards = {item.fit.gpu: item.fit.count for item in answer(method="full", top=0).ranking}
    assert all(count == 1 for gpu, count in boards.items() if is_whole_computer(gpu))
    assert most_boards(CARDS.find("rtx 5090 laptop")) == 1
    assert most_boards(CARDS.find("h100 sxm")) == 1024
    described = as_json(answer(gpu="custom:24GB@5000USD", method="full"))["ranking"][0]
    assert described["count"] > 1 and described["price"]["buy_basis"] == "own"


def test_ranked_gpus_hold_it_and_come_in_order() -> None:
    ranking = as_json(answer(method="full", top=0))["ranking"]
    assert [row["rank"] for row in ranking] == list(range(1, len(ranking) + 1))
    assert {row["verdict"] for row in ranking} <= {"fits", "tight"}
    verdicts = [row["verdict"] for row in ranking]
    assert verdicts == sorted(verdicts)  # what surely fits first
    shared = [row for row in ranking if row["count"] > 1]
    assert shared and all(row["sharding"] in ("ddp", "fsdp") for row in shared)


def test_runs_that_cost_the_same_go_by_memory_and_then_by_speed() -> None:
    """The largest is the fastest as well: a speed before the memory would put it first."""
    (item,) = answer(gpu="4090", gpu_count=1).ranking

    def run(slug: str, gb: int, tokens: float) -> RankedTraining:
        gpu = replace(item.fit.gpu, slug=slug, memory_bytes=gb * 10**9)
        score = replace(item.score, gpu=gpu, boards=1, verdict=Verdict.FITS)
        rate, cost = Rate(tokens, tokens, tokens), replace(item.cost, usd=10.0)
        return replace(item, score=score, rate=rate, cost=cost)

    runs = [run("a", 48, 3000), run("b", 24, 500), run("c", 24, 1000)]
    assert [place.score.gpu.slug for place in in_order(runs, POLICIES["cheapest"])] == [
        "c",
        "b",
        "a",
    ]


def test_words_of_what_is_left_are_in_gigabytes() -> None:
    (item,) = answer(gpu="4090", gpu_count=1).ranking
    left = replace(item, fit=replace(item.fit, headroom_bytes=5 * 10**9))
    assert left.why[0].fields == {"gb": 5.0}


def test_the_cheapest_run_comes_first() -> None:
    ranking = as_json(answer(rank_by="cheapest", top=0))["ranking"]
    priced = [row["price"] for row in ranking if row["price"]["buy_usd"] is not None]
    assert priced and all(price["buy_as_of"] and price["buy_basis"] for price in priced)
    surely = [row["price"]["usd"] for row in ranking if row["verdict"] == "fits"]
    known_usd = [usd for usd in surely if usd is not None]
    assert known_usd == sorted(known_usd)
    assert surely[: len(known_usd)] == known_usd


def test_each_method_has_its_cheapest_gpus() -> None:
    data = as_json(answer(top=1))
    assert [item["method"] for item in data["cheapest"]] == ["full", "lora", "qlora", "dora"]
    lora = data["cheapest"][1]
    assert (
        lora["price"]["usd"]
        == as_json(answer(rank_by="cheapest", top=1))["ranking"][0]["price"]["usd"]
    )
    assert as_json(answer(gpu="4090"))["cheapest"] == []


def test_a_named_gpu_says_how_much_more_it_holds() -> None:
    report = answer(gpu="4090", method="qlora", gpu_count=1)
    item = report.ranking[0]
    assert item.largest is not None
    longest = item.largest.sequence_length
    assert longest > 2048

    def verdict(**changes: Any) -> str:
        return as_json(answer(gpu="4090", gpu_count=1, method="qlora", **changes))["ranking"][0][
            "verdict"
        ]

    assert verdict(sequence_length=longest) == "tight"
    assert verdict(sequence_length=longest + 1) == "does_not_fit"
    assert verdict(micro_batch=item.largest.micro_batch) == "tight"
    assert verdict(micro_batch=item.largest.micro_batch + 1) == "does_not_fit"


@pytest.mark.parametrize(
    "fields, framework",
    [
        ({"gpu": "3060 12gb"}, "unsloth"),
        ({"gpu": "4090"}, "transformers"),  # which holds it as it is
        ({"gpu": "3060 12gb", "framework": "transformers"}, "transformers"),
        ({"gpu": "2x 3060 12gb"}, "transformers"),
        ({"gpu": "1080 ti"}, "transformers"),  # of CUDA capability 6.1
        ({"gpu": "7900 xtx", "method": "full"}, "transformers"),
    ],
)
def test_a_card_too_small_for_the_usual_framework_may_hold_adapters_under_another(
    fields: dict[str, Any], framework: str
) -> None:
    """Llama-3.1-8B by QLoRA takes 12.4 GiB, and 7.3 with Unsloth."""
    report = answer(**{"method": "qlora", **fields})
    (item,) = report.ranking
    assert item.fit.plan.framework == report.plan.framework == framework
    assert as_json(report)["workload"]["framework"] == framework
    assert item.fit.verdict.all_on_gpu == (item.fit.memory.needed.likely <= item.fit.room_bytes)
    told = {note.code for note in item.reasons} & {note.code for note in report.conclusion.said}
    assert ("training_spared" in told) == (framework == "unsloth")


def test_a_ranking_and_a_named_card_take_one_framework() -> None:
    for place in as_json(answer(method="qlora", top=0))["ranking"]:
        if place["count"] == 1:
            named = as_json(answer(method="qlora", gpu=place["gpu"]))["ranking"][0]
            assert named["framework"] == place["framework"]
            assert named["verdict"] == place["verdict"]


def test_varied_lengths_show_more_than_they_need() -> None:
    """About twice 2,048 tokens' 18 bytes of 128,256 logits and a layer.

    A twentieth of it stays and the rest is given back.
    """
    shown, packed = (
        answer(packed=p, framework="ms-swift").estimates[0].memory for p in (False, True)
    )
    assert 2 * 2048 * 18 * 128_256 < shown.reclaimable.likely < 1.3 * 2 * 2048 * 18 * 128_256
    assert packed.needed.likely == packed.total.likely
    stays = shown.needed.likely - packed.needed.likely
    assert stays == pytest.approx(shown.reclaimable.likely / 19, rel=0.001)
    assert shown.needed.low == packed.total.low
    notes = answer(packed=False, framework="ms-swift").notes
    noted = [note for note in notes if note.code == "training_lengths"]
    assert [note.fields["shown_bytes"] for note in noted] == [shown.total.likely]
    card = answer(gpu="a10", gpu_count=1, packed=False)
    (note,) = [note for note in card.notes if note.code == "training_lengths"]
    assert note.fields["shown_bytes"] <= CARDS.find("a10").device_memory_bytes


@pytest.mark.parametrize("method", ["lora", "qlora", "full"])
def test_a_bar_passes_the_line_of_a_card_where_the_verdict_says_so(method: str) -> None:
    """Bars and verdicts use the needed bytes, at lengths around the longest that fits."""
    card = CARDS.find("rtx 4090")
    report = answer(gpu="4090", gpu_count=1, method=method, packed=False)
    most = report.ranking[0].largest
    assert most is not None
    for length in (2048, max(1, most.sequence_length), most.sequence_length + 1):
        report = answer(
            gpu="4090", gpu_count=1, method=method, packed=False, sequence_length=length
        )
        bar = sum(bar_of("", report.estimates[0].memory).parts.values())
        assert bar == report.estimates[0].memory.needed.likely
        fits = report.ranking[0].fit.verdict is not Verdict.DOES_NOT_FIT
        assert (bar <= card.device_memory_bytes) is fits


def test_a_gpu_that_is_far_too_small_does_not_fit() -> None:
    item = answer(gpu="4090", gpu_count=1, method="full").ranking[0]
    assert (item.fit.verdict.value, item.rate, item.cost.hours) == ("does_not_fit", None, None)
    assert item.fit.headroom_bytes < 0
    assert item.largest is not None and item.largest.sequence_length == 0


def test_the_requested_sharding_applies_from_two_gpus() -> None:
    fit = answer(gpu="4090", method="full", sharding="zero3").ranking[0].fit
    assert (fit.plan.sharding, fit.plan.precision) == ("zero3", "master")
    assert answer(gpu="2x4090", sharding="fsdp").ranking[0].fit.plan.sharding == "fsdp"
    assert answer(gpu="1x4090", sharding="fsdp").ranking[0].fit.plan.sharding == "none"


def test_notes_on_models_that_are_hardly_measured() -> None:
    def codes(**fields: Any) -> set[str]:
        return {note.code for note in answer(**fields).notes}

    assert "training_of_pipeline" in codes(model="black-forest-labs/FLUX.1-dev")
    assert "training_of_encoder" in codes(model="google-bert/bert-base-uncased")
    assert "training_without_images" in codes(model="Qwen/Qwen2.5-VL-7B-Instruct")
    mixture = {"model": "openai/gpt-oss-20b"}
    assert "training_of_experts" in codes(**mixture, method="qlora")
    assert "training_of_experts" in codes(**mixture)  # QLoRA is listed beside what was asked for
    assert "training_of_experts" not in codes(model="Qwen/Qwen3-8B")
    assert "training_beyond_context" in codes(sequence_length=200_000)
    assert "training_lengths" in codes()
    assert "training_lengths" not in codes(packed=True) | codes(framework="axolotl")
    short = answer(model="google-bert/bert-base-uncased")
    assert short.plan.sequence_length == 512


def test_adapters_do_not_inherit_the_precision_of_full_training() -> None:
    report = answer(gpu="8xh100 sxm", method="full", sharding="zero3")
    precisions = {row.plan.method: row.plan.precision for row in report.estimates}
    assert precisions == {"full": "master", "lora": "bf16", "qlora": "bf16", "dora": "bf16"}
    mitigations = {mitigation.note.code: mitigation.plan.precision for mitigation in report.ladder}
    assert mitigations["train_lora"] == "bf16"
    request = answer(gpu="8xh100 sxm", method="full", sharding="zero3", precision="master")
    assert {row.plan.precision for row in request.estimates} == {"master"}


@pytest.mark.parametrize(
    ("fields", "method"),
    [
        ({"gpu": "4090", "method": "full"}, "lora"),
        ({"gpu": "3060 12gb", "method": "lora"}, "qlora"),
        ({"gpu": "2x 4090", "method": "full"}, None),  # two are named: one is no answer
        ({"gpu": "4090", "method": "lora"}, None),  # one holds it
    ],
)
def test_a_gentler_method_is_named_where_one_card_is_too_small(
    fields: dict[str, Any], method: str | None
) -> None:
    model = {"full": "meta-llama/Llama-3.2-3B-Instruct", "lora": "Qwen/Qwen3-8B"}
    report = answer(**{"model": model[fields["method"]], **fields})
    named = [n for n in report.conclusion.weighed if n.code == "answer_train_on_one"]
    assert [note.fields["tuning"] for note in named] == ([method] if method else [])
