"""Training on several GPUs: what each holds, and how fast they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.measurements import load_profile
from gpusizer.gpus.costs import rent_usd_per_hour
from gpusizer.speed.rate import Rate
from gpusizer.training.fit import cost_of
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.sharding import share_of
from gpusizer.training.speed import (
    class_of,
    flops_per_token,
    link_bytes_per_second,
    link_of,
    network_bytes_per_second,
    speed_classes,
    traffic_bytes,
    training_rate,
)
from gpusizer.training.stacks import find_stack
from gpusizer.training.state import State
from tests.training_cases import PLAN, of, share_on
from tests.training_reports import CARDS, answer, llama_estimator, llama_shape


def test_bytes_that_each_sharding_divides() -> None:
    plan = TrainingPlan(method="full", precision="master", gpus=4)
    state = of().state(plan)
    whole = 8_030_261_248
    expected = {"ddp": (2, 4, 12), "zero1": (2, 4, 3), "zero2": (2, 1, 3), "zero3": (0.5, 1, 3)}
    for kind, (weights, gradients, rest) in expected.items():
        share = share_on(plan.changed(sharding=kind), state)
        assert share.weights == weights * whole
        assert share.gradients == gradients * whole
        assert share.masters + share.optimizer == pytest.approx(rest * whole)
    fsdp = share_on(plan.changed(sharding="fsdp"), state)
    layer = sum(m.parameters for m in of().shape.matrices) / 32
    assert fsdp.gathered == 2 * (2 * layer + 2 * 128_256 * 4096) + 2 * layer
    # FSDP2 copies a layer's gradient into one buffer before it is divided, torchtitan in FP32.
    for framework, width in (("axolotl", 2), ("torchtitan", 4)):
        share = share_on(plan.changed(sharding="fsdp", framework=framework), state)
        assert share.gathered == fsdp.gathered + width * layer


def test_a_moving_average_is_divided_as_the_states_are() -> None:
    """4 bytes of each of 8,030,261,248 parameters, and as many of their FP32 copies, over 4 GPUs;
    each replica that nothing divides has both whole."""
    plan = TrainingPlan(method="full", precision="master", gpus=4, ema=True)
    assert share_on(plan.changed(sharding="zero1")).masters == 2 * 8_030_261_248
    assert share_on(plan.changed(sharding="ddp")).masters == 8 * 8_030_261_248


def test_zero_three_lets_go_of_modules_that_were_used() -> None:
    """Qwen-72B with LoRA: two layers of 80 in 16 bits, not embedding and head beside them."""
    plan = TrainingPlan(sharding="zero3", gpus=4, framework="deepspeed")
    shape, state = of("Qwen/Qwen-72B-Chat").shape, of("Qwen/Qwen-72B-Chat").state(plan)
    share = share_of(state, shape, plan, find_stack("deepspeed"))
    buckets = 2 * 2 * min(500_000_000, state.trainable)
    layers = 2 * sum(matrix.parameters for matrix in shape.matrices) / 80
    assert share.gathered == 2 * layers + buckets
    fsdp = share_of(state, shape, plan.changed(sharding="fsdp"), find_stack("deepspeed"))
    assert fsdp.gathered == 2 * (layers + shape.embedding + shape.output)


def test_the_last_stage_kept_the_logits_of_every_sequence() -> None:
    """22 bytes of one sequence's logits, and 2 of those of the 31 others, an eighth of each."""
    plan = TrainingPlan(method="full", precision="mixed", sharding="fsdp", gpus=512)
    plan = plan.changed(tensor_parallel=8, pipeline_parallel=8, micro_batch=32)
    plan = plan.changed(framework="torchtitan", framework_version="2025-06", sequence_length=8192)
    model = of("meta-llama/Llama-3.1-405B")
    entries = 8192 * 128_256 / 8
    assert model.estimate(plan).logits.likely == entries * (22 + 31 * 2)
    assert model.estimate(plan.changed(framework_version="")).logits.likely == entries * 22


def test_parts_of_a_batch_on_their_way_through_a_pipeline() -> None:
    """A stage keeps 8 of 32 sequences; in 2024, when a batch went in 8 parts, all of them."""
    plan = TrainingPlan(method="full", precision="mixed", sharding="fsdp", gpus=512)
    plan = plan.changed(
        tensor_parallel=8, pipeline_parallel=8, micro_batch=32, sequence_length=8192
    )
    plan = plan.changed(gradient_checkpointing="full", framework="torchtitan")
    model = of("meta-llama/Llama-3.1-405B")
    inputs = 2 * 16_384 * 8192 * 126 / 64  # of a sequence's layers, a 64th of them on each GPU
    logits = 8192 * 128_256 / 8
    for version, sequences, each_entry in (
        ("2025-06", 8, 22 + 31 * 2),
        ("2024-11", 32, 4 * 22 + 28 * 2),
    ):
        estimate = model.estimate(plan.changed(framework_version=version))
        assert estimate.activations.likely == sequences * inputs, version
        assert estimate.logits.likely == logits * each_entry, version


def test_offload_moves_bytes_to_the_host() -> None:
    plan = TrainingPlan(method="full", precision="master", sharding="zero3", gpus=4)
    on_gpu, states, all_offloaded = (
        of().estimate(plan.changed(offload=what)) for what in ("none", "optimizer", "all")
    )
    assert on_gpu.host == 0
    assert states.host == 16 * 8_030_261_248  # FP32 copies and gradients, two states
    assert states.gradients.likely == 0
    assert all_offloaded.host == 18 * 8_030_261_248
    model = of().estimate(plan.changed(offload="model"))
    assert model.host == all_offloaded.host and model.weights.likely == 0
    assert model.activations.likely >= all_offloaded.activations.likely
    disks = of().estimate(plan.changed(offload="nvme"))
    assert disks.nvme == 18 * 8_030_261_248
    assert disks.host == 4 * 5 * 4 * 500_000_000
    assert states.optimizer.likely == all_offloaded.weights.likely == 0
    assert all_offloaded.total.likely < states.total.likely < on_gpu.total.likely


def test_zero_takes_gradients_to_its_states() -> None:
    """DeepSpeed's own estimate for ZeRO-2: 2 bytes on each GPU, 16 on the host."""
    whole = 8_030_261_248
    plan = TrainingPlan(method="full", precision="master", gpus=4, offload="optimizer")
    for kind, weights, gradients in (("zero1", 2, 4), ("zero2", 2, 0), ("zero3", 0.5, 0)):
        changed = plan.changed(sharding=kind)
        share = share_on(changed)
        assert (share.weights, share.gradients) == (weights * whole, gradients * whole)
        assert (share.updated, share.host) == (0, 16 * whole)


@pytest.mark.parametrize("offload", ["parameters", "model", "all", "nvme"])
def test_whole_gradients_of_zero_one_follow_its_weights(offload: str) -> None:
    """4 bytes of a gradient and 2 of a weight on each of 4 replicas, 12 of states in all."""
    plan = TrainingPlan(
        method="full", precision="master", sharding="zero1", gpus=4, offload=offload
    )
    share = share_on(plan)
    away = share.nvme if offload == "nvme" else share.host
    states = 0 if offload == "parameters" else 12
    assert (share.gradients, share.weights) == (0, 0)
    assert away == (4 * (4 + 2) + states) * 8_030_261_248


def test_buckets_are_no_larger_than_the_part_of_a_gpu() -> None:
    """32 parts of 8,030,261,248 parameters are smaller than any bucket: 2 x 2 bytes of each."""
    plan = TrainingPlan(method="full", precision="master", tensor_parallel=32, gpus=64)
    part = 8_030_261_248 / 32
    for kind in ("zero1", "zero2"):
        changed = plan.changed(sharding=kind)
        assert share_on(changed).gathered == 4 * part
    for gpus in (32, 64):
        changed = plan.changed(sharding="zero3", gpus=gpus)
        assert share_on(changed).gathered == (2 + 4) * part
    disks = plan.changed(sharding="zero3", offload="nvme")
    assert share_on(disks).host == 64 * 5 * 4 * part


def test_every_replica_offloads_its_own_states() -> None:
    """Two BF16 moments of 8,030,261,248 parameters, whole on each of 8 replicas."""
    plan = TrainingPlan(method="full", sharding="ddp", gpus=8, offload="optimizer")
    assert of().estimate(plan).host == 8 * 4 * 8_030_261_248
    assert of().estimate(plan.changed(sharding="fsdp")).host == 4 * 8_030_261_248


def test_ranks_of_a_model_each_offload_their_part() -> None:
    """Four replicas of two ranks: half of two BF16 moments from each of 8 GPUs."""
    plan = TrainingPlan(method="full", sharding="ddp", gpus=8, offload="optimizer")
    assert share_on(plan.changed(tensor_parallel=2)).host == 8 * 4 * 8_030_261_248 / 2


def test_a_device_trains_by_its_part_of_the_board() -> None:
    """One of two dies on a board takes twice as long as all of it."""
    whole = CARDS.find("h100 sxm")
    state, stack = of().state(PLAN), find_stack(PLAN.framework)
    rates = [
        training_rate(of().shape, 8 * 10**9, state, PLAN, stack, gpu)
        for gpu in (whole, replace(whole, devices_per_board=2))
    ]
    one, half = (rate.likely for rate in rates if rate is not None)
    assert half == pytest.approx(one / 2, rel=0.01)


def test_context_parallelism_divides_activations() -> None:
    plan = TrainingPlan(method="full", precision="mixed", sharding="fsdp", gpus=8)
    whole = of().estimate(plan.changed(sequence_length=8192))
    split = of().estimate(plan.changed(sequence_length=32768, context_parallel=4))
    assert whole.logits == split.logits
    assert whole.weights == split.weights


def test_paged_states_are_no_need_of_the_card() -> None:
    """Two BF16 moments of 8,030,261,248 parameters, which PyTorch does not count either."""
    plan = PLAN.changed(optimizer="paged_adamw", sequence_length=128)
    memory, plain = of().estimate(plan), of().estimate(plan.changed(optimizer="sgd"))
    assert memory.optimizer.high == 0
    assert memory.paged == memory.host == 4 * 8_030_261_248
    assert memory.allocated == plain.allocated and memory.needed == plain.needed
    assert memory.total.likely == plain.total.likely
    assert memory.total.high == plain.total.high + memory.paged
    assert of().estimate(plan.changed(offload="optimizer")).paged == 0


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


@pytest.mark.parametrize(
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
