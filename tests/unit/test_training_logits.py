"""Bytes of logits by framework and release: whole, cut, or in chunks."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.training.plan import TrainingPlan
from tests.training_cases import GIB, PLAN, of


@pytest.mark.parametrize(
    "version, whole, elastic, chunks",
    [
        ("2024.3", 6, 0, 1),
        ("2024.10.0", 6, 0, 1),
        ("2025.4.7", 0.5, 0, 1),
        ("2025.11.4", 0.5, 8, 1),
        ("", 0.5, 8, 8),
    ],
)
def test_logits_of_unsloth_by_its_version(
    version: str, whole: float, elastic: float, chunks: int
) -> None:
    """Whole, cut, then in chunks that take what is free, of at most 4 GiB in FP32 today, which are
    given back."""
    plan = TrainingPlan(framework="unsloth", framework_version=version)
    plan = plan.changed(gradient_checkpointing="none", sequence_length=4096)
    memory = of().estimate(plan)
    entries = 4096 * 128_256  # 1.96 GiB in FP32: one chunk
    assert memory.phase == "loss" and memory.logits.likely == entries * whole
    assert memory.reclaimable.likely == round(entries * max(0, elastic - whole))
    longer = of().estimate(plan.changed(sequence_length=65_536))  # 31.3 GiB in FP32
    assert longer.reclaimable.likely == max(0, round(entries * 16 * (elastic / chunks - whole)))


def test_what_is_given_back_takes_no_more_than_is_left() -> None:
    """FP32 logits of 31.3 GiB exist twice; a device has only the remaining memory for them."""
    plan = TrainingPlan(framework="unsloth", framework_version="2025.11.4", packed=True)
    memory = of().estimate(plan.changed(sequence_length=65_536, gradient_checkpointing="none"))
    device = memory.needed.likely + 5 * GIB
    there = memory.on(device)
    assert there.reclaimable.likely == 5 * GIB < memory.reclaimable.likely
    assert there.needed == memory.needed and there.total.likely == device
    assert memory.on(device - 6 * GIB).reclaimable.likely == 0
    assert memory.on(memory.total.likely) == memory


def test_short_steps_of_unsloth_of_2025_hold_whole_logits() -> None:
    """1,024 tokens x 6 bytes x 128,256 entries: more than a layer of 2,048 tokens backwards."""
    plan = PLAN.changed(method="qlora", framework="unsloth", framework_version="2025.4.7")
    plan = plan.changed(gradient_checkpointing="full", sequence_length=2048)
    whole = 1024 * 128_256 * 6
    longest = of().estimate(plan.changed(packed=True))
    assert longest.phase == "backward"
    assert of().estimate(plan).logits.likely == whole
    assert of().estimate(plan).needed.likely > longest.needed.likely
    assert of().estimate(plan.changed(micro_batch=4, sequence_length=512)).logits.likely == whole
    short = of().estimate(plan.changed(sequence_length=1024, packed=True))
    assert short.logits.likely == whole
    later = plan.changed(framework_version="2025.11.4", sequence_length=1024)
    assert of().estimate(later).phase == "backward"


def test_logits_of_torchtune_by_its_version() -> None:
    """8 chunks: log-softmax (4) of all and 10 of one; before, the forward pass ended with 16-bit
    logits (2) beside it and 4 of one. Compiled, 2 of all and 4 of one."""
    plan = TrainingPlan(framework="torchtune", fused_loss=True, gradient_checkpointing="none")

    def logits(version: str, **changed: Any) -> int:
        return of().estimate(plan.changed(framework_version=version, **changed)).logits.likely

    each = 2048 * 128_256
    for version, eager, compiled in (("", 5.25, 2.5), ("0.5", 6.5, 2.5), ("2024-10", 6.5, 2.5)):
        assert logits(version) == each * eager
        assert logits(version, compiled=True) == each * compiled
    assert logits("0.2.1", fused_loss=False) == each * 12
    # Told not to cut: FP32 logits, their shifted copy and log-softmax.
    for version in ("", "0.5"):
        for compiled in (False, True):
            assert logits(version, compiled=compiled, fused_loss=False) == each * 12
        assert logits(version, fused_loss=None) == logits(version)


@pytest.mark.parametrize(
    "version, logit_bytes, sharding, at_once",
    [("0.6", 2, "none", 2), ("", 2.5, "none", 2), ("0.6", 2, "fsdp", 1)],
)
def test_chunks_add_up_the_gradient_of_the_head_at_the_loss(
    version: str, logit_bytes: float, sharding: str, at_once: int
) -> None:
    """2 bytes of 128,256 x 4,096 for the sum and for the chunk's own, beside 16-bit logits of all
    12,288 tokens and a vector of 4,096 for each of 32 layers; FSDP has one at once."""
    plan = TrainingPlan(method="full", precision="bf16", framework="torchtune", compiled=True)
    plan = plan.changed(optimizer_in_backward=True, optimizer="paged_adamw", sequence_length=12_288)
    plan = plan.changed(framework_version=version, sharding=sharding, packed=True)
    plan = plan.changed(gpus=8 if sharding == "fsdp" else 1)
    memory = of().estimate(plan)
    assert memory.phase == "loss"
    assert memory.gradients.likely == at_once * 2 * 128_256 * 4096
    assert memory.logits.likely == 12_288 * 128_256 * logit_bytes
    held = of().estimate(plan.changed(train_embeddings=False))
    assert held.gradients.likely == 0  # a head that is not trained has none
    whole = of().estimate(plan.changed(fused_loss=False))
    assert (whole.phase, whole.gradients.likely) == ("loss", 0)


def test_the_head_of_an_adapted_model_has_no_gradient() -> None:
    """Eager, the forward pass holds 6.5 bytes of a logit: more than 2 and two gradients."""
    plan = TrainingPlan(framework="torchtune", framework_version="0.6", sequence_length=16_384)
    assert of().estimate(plan).gradients.likely == 0
    full = plan.changed(method="full", optimizer_in_backward=True, optimizer="paged_adamw")
    assert of().estimate(full).logits.likely == 16_384 * 128_256 * 6.5
    assert of().estimate(full).gradients.likely == 0
