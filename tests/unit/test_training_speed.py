"""FLOPs, traffic, links and price of a training run, computed by hand."""

from __future__ import annotations

import pytest

from bench.measurements import load_profile
from gpusizer.fit.speed.rate import Rate
from gpusizer.gpus.costs import rent_usd_per_hour
from gpusizer.training.fit import cost_of
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.speed import (
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
from tests.each import each
from tests.training_reports import CARDS, answer, llama_estimator, llama_shape


def test_flops_by_hand() -> None:
    estimator_shape = llama_shape()
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
    return traffic_bytes(llama_shape(), state, plan, find_stack(plan.framework))


def test_traffic_by_hand() -> None:
    plan = TrainingPlan(method="full", gpus=4, sharding="ddp")
    state = llama_estimator().state(plan)
    assert sent(state, plan) == 2 * 0.75 * 2 * 8_030_261_248
    later = plan.changed(gradient_accumulation=8)  # 1/8 of an exchange in each step
    assert sent(state, later) == 2 * 0.75 * 2 * 8_030_261_248 / 8
    sharded = plan.changed(sharding="fsdp")
    assert sent(state, sharded) == 0.75 * 3 * 2 * 8_030_261_248


@each(
    "changes, each",
    [
        ({"sharding": "zero1"}, (2 + 2) / 8),  # gradients out and weights back, once in 8 steps
        ({"sharding": "zero2"}, 2 + 2 / 8),  # gradients in every step
        ({"sharding": "zero3"}, 2 * 2 + 2),
        # FP32 weights are cast before they are sent; Trainer waits with gradients, torchtitan not.
        ({"sharding": "fsdp", "precision": "mixed"}, 2 * 2 + 4 / 8),
        ({"sharding": "fsdp", "precision": "mixed", "framework": "torchtitan"}, 2 * 2 + 4),
    ],
)
def test_traffic_of_sharding_with_accumulation(changes: dict[str, str], each: float) -> None:
    plan = TrainingPlan(method="full", gpus=4, precision="master", gradient_accumulation=8)
    plan = plan.changed(**changes)
    state = llama_estimator().state(plan)
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
    cost = cost_of(card, 2, Rate(500, 1000, 1500), 3_600_000, 0.15)
    assert cost.hours == 1
    assert cost.usd == pytest.approx(2 * (rent_usd_per_hour(card) or 0), rel=0.01)
    assert cost.energy_kwh == 0.9
    assert cost.energy_usd == 0.135
    assert cost_of(card, 2, None, 1, 0.15).hours is None
