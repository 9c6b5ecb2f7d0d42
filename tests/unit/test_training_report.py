"""Training answers: ranking, ladder, inverse questions, time and money, one JSON shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.measurements import load_profile
from gpusizer.answers.trainer import train
from gpusizer.answers.training_report import TrainingReport
from gpusizer.cli.training_tables import training_text
from gpusizer.core.errors import InvalidRequest, UnknownGpu
from gpusizer.core.units import format_gib
from gpusizer.fit.fit import Verdict
from gpusizer.gpus.costs import rent_usd_per_hour
from gpusizer.text import LANGUAGES, say_note, text
from gpusizer.training.fit import cost_of, fit_of
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.speed import (
    TrainingRate,
    class_of,
    flops_per_token,
    link_bytes_per_second,
    link_of,
    network_bytes_per_second,
    speed_classes,
    traffic_bytes,
)
from gpusizer.training.stacks import find_stack
from gpusizer.training.state import State
from gpusizer.ui.presenters.training import stacks_of, training_html
from gpusizer.ui.presenters.words import Words
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
CARDS = embedded_sizer().catalogue


def answer(**fields: Any) -> TrainingReport:
    sizer = embedded_sizer()
    return train(sizer.fetch, sizer.catalogue, {"model": LLAMA, **fields})


def as_json(report: TrainingReport) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(report.to_json(say_note), allow_nan=False))
    return data


def test_the_report_has_the_shape_of_the_others() -> None:
    data = as_json(answer(top=5))
    assert data["schema_version"] == 1
    assert data["model"]["parameters"] == 8_030_261_248
    assert data["workload"]["sequence_length"] == 2048
    assert data["workload"]["task"] == "train"
    assert [row["method"] for row in data["estimates"]] == ["lora", "full", "qlora", "dora"]
    assert [row["asked"] for row in data["estimates"]] == [True, False, False, False]
    assert len(data["ranking"]) == 5
    for row in data["estimates"]:
        each = row["per_gpu"]
        parts = (
            "weights",
            "gradients",
            "optimizer",
            "activations",
            "logits",
            "buffers",
            "reserve",
            "context",
        )
        assert sum(each[f"{name}_bytes"] for name in parts) == each["total_bytes"]
        assert row["low_bytes"] <= row["total_bytes"] <= row["high_bytes"]
        assert set(row["provenance"].values()) <= {"exact", "derived", "fitted"}


def test_ranked_gpus_hold_it_and_come_in_order() -> None:
    ranking = as_json(answer(method="full", top=0))["ranking"]
    assert [row["rank"] for row in ranking] == list(range(1, len(ranking) + 1))
    assert {row["verdict"] for row in ranking} <= {"fits", "tight"}
    verdicts = [row["verdict"] for row in ranking]
    assert verdicts == sorted(verdicts)  # what surely fits first
    shared = [row for row in ranking if row["count"] > 1]
    assert shared and all(row["sharding"] in ("ddp", "fsdp") for row in shared)


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


def test_the_ladder_adds_up() -> None:
    report = answer(
        gpu="4090",
        gpu_count=1,
        method="full",
        gradient_checkpointing="none",
        sequence_length=16384,
    )
    codes = [rung.note.code for rung in report.ladder]
    # Checkpointed, the update is the peak: the loss waits until 8-bit moments lower that. Sharding
    # one GPU's QLoRA gathers layers and the head: it would add 1.1 GB.
    assert codes == [
        "train_checkpointing",
        "train_8bit_optimizer",
        "train_fused_loss",
        "train_lora",
        "train_qlora",
        "train_offload_all",
    ]
    # Two moments of 2 bytes become 1 and an FP32 scale for 256: 2 x (2 - 1 - 4 / 256).
    assert report.ladder[1].alone_bytes == 1.96875 * 8_030_261_248
    saved = sum(rung.saving_bytes for rung in report.ladder)
    start = report.ladder[0].total_bytes + report.ladder[0].saving_bytes
    assert start - saved == report.ladder[-1].total_bytes
    assert report.ladder[0].fits is False and report.ladder[-1].fits is True


LADDERS: tuple[dict[str, Any], ...] = (
    {},
    {"packed": False},
    {"gpu": "4090", "packed": False, "sequence_length": 8192},
    {"method": "full", "sharding": "zero3", "tensor_parallel": 2, "gpu_count": 1},
)


@pytest.mark.parametrize("fields", LADDERS)
def test_what_is_said_first_is_where_the_ladder_starts(fields: dict[str, Any]) -> None:
    """The need of each GPU minus a step's saving is what that step leaves, in every answer."""
    report = answer(**fields)
    data = as_json(report)
    need = data["estimates"][0]["per_gpu"]
    assert need["needed_bytes"] == need["total_bytes"] - need["reclaimable_bytes"]
    remaining = need["needed_bytes"]
    for rung in data["ladder"]:
        remaining -= rung["saving_bytes"]
        assert remaining == rung["total_bytes"]
    assert data["ladder"]
    shown = training_html(report, Words("en"))
    amount = format_gib(need["needed_bytes"])
    assert f"takes {amount} on each GPU" in shown
    cells = training_text(report).split("lora*" if not fields.get("method") else "full*")[1].split()
    assert cells[8] == f"{need['needed_bytes'] / 2**30:.2f}"


def test_varied_lengths_show_more_than_they_need() -> None:
    """Half or all of 1.7 times 2,048 tokens' 12 bytes of 128,256 logits is given back."""
    shown, packed = (answer(packed=p).estimates[0].memory for p in (False, True))
    assert shown.reclaimable == round(1.7 * 2048 * 12 * 128_256)
    assert shown.needed.likely == packed.needed.likely == packed.total.likely
    assert shown.needed.low == packed.total.low
    noted = [note for note in answer(packed=False).notes if note.code == "training_lengths"]
    assert [note.fields["shown_bytes"] for note in noted] == [shown.total.likely]
    assert abs(shown.needed.high - packed.total.high) <= 1


@pytest.mark.parametrize("method", ["lora", "qlora", "full"])
def test_a_bar_passes_the_line_of_a_card_where_the_verdict_says_so(method: str) -> None:
    """Bars and verdicts are of what a GPU needs, at lengths around the longest that fits."""
    card = CARDS.find("rtx 4090")
    report = answer(gpu="4090", gpu_count=1, method=method, packed=False)
    most = report.ranking[0].largest
    assert most is not None
    for length in (2048, max(1, most.sequence_length), most.sequence_length + 1):
        report = answer(
            gpu="4090", gpu_count=1, method=method, packed=False, sequence_length=length
        )
        bar = stacks_of(report.estimates)[0].total_bytes
        assert bar == report.estimates[0].memory.needed.likely
        fits = report.ranking[0].fit.verdict is not Verdict.DOES_NOT_FIT
        assert (bar <= card.device_memory_bytes) is fits


def test_a_gpu_that_is_far_too_small_does_not_fit() -> None:
    item = answer(gpu="4090", gpu_count=1, method="full").ranking[0]
    assert (item.fit.verdict.value, item.rate, item.cost.hours) == ("does_not_fit", None, None)
    assert item.fit.headroom_bytes < 0
    assert item.largest is not None and item.largest.sequence_length == 0


def test_errors_are_the_usual_ones() -> None:
    with pytest.raises(UnknownGpu):
        answer(gpu="rtx 9999")
    with pytest.raises(InvalidRequest):
        answer(lora_targets="wizard_proj")
    with pytest.raises(InvalidRequest, match="cannot_be_split"):
        answer(gpu="6x4090", tensor_parallel=4)


def test_the_asked_for_sharding_waits_for_its_gpus() -> None:
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
    assert "training_of_experts" not in codes(**mixture)
    assert "training_beyond_context" in codes(sequence_length=200_000)
    assert "training_lengths" in codes() and "training_lengths" not in codes(packed=True)
    short = answer(model="google-bert/bert-base-uncased")
    assert short.plan.sequence_length == 512


def test_every_note_has_words_in_every_language() -> None:
    report = answer(gpu="t4,8xm3 max 128gb,16xh100 sxm", offload="nvme", method="full")
    notes = [note for item in report.ranking for note in item.reasons]
    notes += [rung.note for rung in report.ladder] + list(report.notes)
    assert {
        "training_without_bf16",
        "training_software",
        "training_network",
        "training_host_memory",
        "training_nvme",
    } <= {note.code for note in notes}
    for language in LANGUAGES:
        assert all("{" not in say_note(note, language) for note in notes)


def test_no_number_of_gpus_is_promised_where_none_train_it() -> None:
    """How many are tried depends on the card (`fit.COUNTS`)."""
    for language in LANGUAGES:
        assert not any(sign.isdigit() for sign in text("page.train.nothing", language))


def test_flops_by_hand() -> None:
    estimator_shape = _shape()
    full = TrainingPlan(method="full", sequence_length=1000, gradient_checkpointing="none")
    products = 8_030_261_248 - 128_256 * 4096
    scores = 2 * 1000 * 4096 * 32
    assert flops_per_token(estimator_shape, 8_030_261_248, full) == 6 * products + 3 * scores
    lora = full.changed(method="lora", gradient_checkpointing="full")
    assert flops_per_token(estimator_shape, 8_030_261_248, lora) == 6 * products + 4 * scores


def test_a_tied_embedding_is_multiplied_as_the_head() -> None:
    tied = TrainingEstimator(load_profile("Qwen/Qwen3-0.6B")).shape
    plan = TrainingPlan(method="full", sequence_length=1000, gradient_checkpointing="none")
    scores = 2 * 1000 * 16 * 128 * 28
    assert flops_per_token(tied, 596_049_920, plan) == 6 * 596_049_920 + 3 * scores


def sent(state: State, plan: TrainingPlan) -> float:
    return traffic_bytes(_shape(), state, plan, find_stack(plan.framework))


def test_traffic_by_hand() -> None:
    plan = TrainingPlan(method="full", gpus=4, sharding="ddp")
    state = _estimator().state(plan)
    assert sent(state, plan) == 2 * 0.75 * 2 * 8_030_261_248
    later = plan.changed(gradient_accumulation=8)  # 1/8 of an exchange in each step
    assert sent(state, later) == 2 * 0.75 * 2 * 8_030_261_248 / 8
    sharded = plan.changed(sharding="fsdp")
    assert sent(state, sharded) == 0.75 * 3 * 2 * 8_030_261_248


@pytest.mark.parametrize(
    ("changes", "each"),
    [
        ({"sharding": "zero1"}, (2 + 2) / 8),  # gradients out and weights back, once in 8 steps
        ({"sharding": "zero2"}, 2 + 2 / 8),  # gradients in every step
        ({"sharding": "zero3"}, 2 * 2 + 2),
        # FP32 weights are cast before they are sent; Trainer waits with gradients, torchtitan not.
        ({"sharding": "fsdp", "precision": "mixed"}, 2 * 2 + 4 / 8),
        ({"sharding": "fsdp", "precision": "mixed", "framework": "torchtitan"}, 2 * 2 + 4),
    ],
)
def test_what_sharding_sends_over_an_accumulation(changes: dict[str, str], each: float) -> None:
    plan = TrainingPlan(method="full", gpus=4, precision="master", gradient_accumulation=8)
    plan = plan.changed(**changes)
    state = _estimator().state(plan)
    assert sent(state, plan) == 0.75 * each * 8_030_261_248


def test_links() -> None:
    h100, card = CARDS.find("h100 sxm"), CARDS.find("rtx 4090")
    assert link_bytes_per_second(h100, 8) == 900e9 / 2 * 0.7
    assert link_bytes_per_second(h100, 512) == 50e9
    assert link_bytes_per_second(card, 2) == 64e9 / 2 * 0.3
    assert {class_of(gpu) for gpu in CARDS.gpus} == set(speed_classes())


def test_a_network_is_no_faster_than_the_links_of_a_machine() -> None:
    for gpu in CARDS.gpus:
        boards = (8 * gpu.devices_per_board, 16 * gpu.devices_per_board)
        near, far = (link_bytes_per_second(gpu, devices) for devices in boards)
        assert near is None or (far is not None and far <= near), gpu.slug


def test_communication_over_pcie_is_not_overlapped() -> None:
    """Sixteen boards on PCIe, in two machines, are no more than twice as fast as eight."""
    request = {"method": "full", "sharding": "zero2", "gpu": "a100 pcie 80gb"}
    near, far = (answer(**request, gpu_count=count).ranking[0].rate for count in (8, 16))
    assert near is not None
    assert far is not None
    assert far.likely <= 2 * near.likely


def test_domains_count_boards_and_bridged_pairs_share_a_machine() -> None:
    bridged, dies = CARDS.find("rtx 3090"), CARDS.find("a16-64gb")
    assert [link_of(bridged, n) for n in (2, 4, 8, 16)] == ["fabric", "pcie", "pcie", "network"]
    assert link_bytes_per_second(bridged, 2) == 112.5e9 / 2 * 0.7
    assert link_bytes_per_second(bridged, 4) == 64e9 / 2 * 0.3
    assert link_bytes_per_second(bridged, 16) == 50e9 / 8
    assert [link_of(dies, n) for n in (4, 32, 33)] == ["pcie", "pcie", "network"]  # 4 on a board
    assert network_bytes_per_second(dies) == link_bytes_per_second(dies, 32)  # PCIe is slower
    for count, code in ((4, "no_fast_interconnect"), (2, None)):
        reasons = answer(gpu="rtx 3090", gpu_count=count).ranking[0].reasons
        codes = {note.code for note in reasons} & {"no_fast_interconnect", "training_network"}
        assert codes == ({code} if code else set())
    far = answer(gpu="16xh100 sxm").ranking[0].reasons
    assert [note.fields["gbit"] for note in far if note.code == "training_network"] == [400]


def test_adapters_do_not_inherit_the_precision_of_full_training() -> None:
    report = answer(gpu="8xh100 sxm", method="full", sharding="zero3")
    precisions = {row.plan.method: row.plan.precision for row in report.estimates}
    assert precisions == {"full": "master", "lora": "bf16", "qlora": "bf16", "dora": "bf16"}
    rungs = {rung.note.code: rung.plan.precision for rung in report.ladder}
    assert rungs["train_lora"] == "bf16"
    request = answer(gpu="8xh100 sxm", method="full", sharding="zero3", precision="master")
    assert {row.plan.precision for row in request.estimates} == {"master"}


def test_the_ladder_leaves_out_changes_that_save_nothing() -> None:
    for method, gpus in (("full", "4090"), ("lora", "4090"), ("qlora", "2x3090")):
        report = answer(gpu=gpus, method=method)
        assert all(rung.saving_bytes > 0 for rung in report.ladder)
    codes = [rung.note.code for rung in answer(gpu="4090", gpu_count=1, method="full").ladder]
    assert codes.index("train_shard") == len(codes) - 2


def test_interconnect_counts() -> None:
    rates = {
        name: answer(gpu=f"8x{name}", method="full").ranking[0].rate
        for name in ("h100 sxm", "h100 pcie")
    }
    fabric, pcie = rates["h100 sxm"], rates["h100 pcie"]
    assert fabric is not None and pcie is not None
    assert fabric.likely > 1.4 * pcie.likely


def test_money_by_hand() -> None:
    card = CARDS.find("rtx 4090")
    cost = cost_of(card, 2, TrainingRate(500, 1000, 1500), 3_600_000, 0.15)
    assert cost.hours == 1
    assert cost.usd == pytest.approx(2 * (rent_usd_per_hour(card) or 0), rel=0.01)
    assert cost.energy_kwh == 0.9
    assert cost.energy_usd == 0.135
    assert cost_of(card, 2, None, 1, 0.15).hours is None


def test_the_verdict_goes_by_the_likely_side() -> None:
    memory = _estimator().estimate(TrainingPlan())
    card = CARDS.find("rtx 4090")
    assert fit_of(card, 1, TrainingPlan(), memory).verdict.value in ("fits", "tight")
    tiny = CARDS.find("gtx-1050-2gb")
    assert fit_of(tiny, 1, TrainingPlan(), memory).verdict.value == "does_not_fit"


def _estimator() -> TrainingEstimator:
    return TrainingEstimator(answer().profile)


def _shape() -> TrainedShape:
    return _estimator().shape
