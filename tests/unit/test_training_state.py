"""Weights, gradients and states: bytes per parameter by hand, optimizers, frozen bases."""

from __future__ import annotations

import pytest

from bench.models import load_profile
from gpusizer.errors import InvalidRequest
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.optimizers import (
    OPTIMIZERS,
    find_optimizer,
    state_bytes_of_matrix,
    state_bytes_of_rest,
)
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import Matrix
from gpusizer.training.state import BASE_BYTES
from gpusizer.training.trainer import bytes_per_parameter

LLAMA = "meta-llama/Llama-2-7b-hf"
PARAMETERS = 6_738_415_616
MATRIX = Matrix("l.{}.mlp.up_proj.weight", 1000, 400, 2, 2.0, False, False, False)


def estimator(model: str = LLAMA) -> TrainingEstimator:
    return TrainingEstimator(load_profile(model))


@pytest.mark.parametrize(
    ("changes", "total"),
    [
        ({}, 8),  # torchao ladder: 51.6 GiB measured, 50.2 of it static
        ({"optimizer": "adamw_8bit"}, 6),
        ({"optimizer": "adamw_4bit"}, 5),
        ({"precision": "mixed"}, 16),  # torchtitan, FSDP2
        ({"precision": "fp32"}, 16),
        ({"precision": "master"}, 18),  # DeepSpeed
        ({"optimizer": "sgd"}, 4),
        ({"optimizer": "lion"}, 6),
        ({"precision": "mixed", "ema": True}, 20),
    ],
)
def test_static_bytes_of_a_parameter(changes: dict[str, object], total: float) -> None:
    plan = TrainingPlan(method="full").changed(**changes)
    each = bytes_per_parameter(estimator(), plan)
    assert each.total == pytest.approx(total, rel=0.015)
    assert each.frozen is None


def test_the_torchao_ladder() -> None:
    """Llama-2-7B: 50.2, 37.7 and 31.4 GiB static; measured 51.6, 39.1 and 33.2."""
    static = {"adamw": 50.2, "adamw_8bit": 37.7, "adamw_4bit": 31.4}
    for optimizer, gib in static.items():
        state = estimator().state(TrainingPlan(method="full", optimizer=optimizer))
        whole = state.weights + state.gradients + state.optimizer
        assert whole / 2**30 == pytest.approx(gib, rel=0.012)
        assert state.trainable == PARAMETERS


def test_an_adapter_costs_sixteen_bytes_beside_a_frozen_base() -> None:
    """Rank 8 on q and v of 32 layers: 8 x (4096 + 4096) x 2 x 32 = 4,194,304 (LitGPT's count)."""
    plan = TrainingPlan(method="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"))
    state = estimator().state(plan)
    assert state.trainable == 4_194_304
    assert bytes_per_parameter(estimator(), plan).total == 16
    assert state.frozen == 2 * PARAMETERS


def test_opened_matrices_are_not_among_the_frozen() -> None:
    """BF16: 2 bytes for each parameter but the 2 x 32000 x 4096 of embedding and head."""
    plan = TrainingPlan(method="lora", train_embeddings=True)
    assert estimator().state(plan).frozen == 2 * (PARAMETERS - 2 * 32000 * 4096)
    assert bytes_per_parameter(estimator(), plan).frozen == 2


def test_a_four_bit_base_leaves_embedding_head_and_norms_wide() -> None:
    outside = 2 * 32000 * 4096
    norms = (2 * 32 + 1) * 4096
    inside = PARAMETERS - outside - norms
    plan = TrainingPlan(method="qlora", framework="torchtune")
    assert estimator().state(plan).frozen == inside * 0.5625 + 2 * (outside + norms)
    raised = estimator().state(plan.changed(framework="transformers"))
    assert raised.frozen == inside * 0.5625 + 4 * (outside + norms)
    assert BASE_BYTES["nf4-dq"] * 8 == pytest.approx(4.127, abs=5e-4)
    assert BASE_BYTES["int4"] * 8 == pytest.approx(4.156, abs=5e-4)


def test_a_packed_checkpoint_stays_as_it_is() -> None:
    packed = estimator("Qwen/Qwen-7B-Chat-Int4")
    state = packed.state(TrainingPlan(method="qlora", framework="torchtune"))
    assert state.frozen == packed.profile.weight_bytes


def test_embeddings_beside_adapters_are_trained_in_full() -> None:
    plan = TrainingPlan(method="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"))
    opened = estimator().state(plan.changed(train_embeddings=True))
    assert opened.trainable == 4_194_304 + 2 * 32000 * 4096
    magnitudes = estimator().state(plan.changed(method="dora")).trainable - 4_194_304
    assert magnitudes == 2 * 4096 * 32  # one for every row of q and v


def test_embeddings_can_be_frozen_in_full_training() -> None:
    outside = 2 * 32000 * 4096
    plan = TrainingPlan(method="full", train_embeddings=False)
    state = estimator().state(plan)
    assert state.trainable == PARAMETERS - outside
    assert state.frozen == 2 * outside
    assert state.optimizer == 4 * (PARAMETERS - outside)


def test_states_by_hand() -> None:
    def of(slug: str, rank: int = 10) -> float:
        return state_bytes_of_matrix(OPTIMIZERS[slug], MATRIX, 4, rank)

    assert of("adamw") == 2 * 4 * 800_000
    assert of("adamw_8bit") == 2 * (1 + 4 / 256) * 800_000
    assert of("adafactor") == 4 * (1000 + 400) * 2
    # GaLore: two states of 10 x 1000 and a projector of 10 x 400, for each of two matrices.
    assert of("galore_adamw") == 4 * (2 * 10 * 1000 + 10 * 400) * 2
    assert of("galore_adamw", rank=9999) == 4 * (2 * 400 * 1000 + 400 * 400) * 2
    assert of("muon") == 4 * 800_000
    assert state_bytes_of_rest(OPTIMIZERS["muon"], 100, 4) == 800
    assert state_bytes_of_rest(OPTIMIZERS["lion"], 100, 2) == 200


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("AdamW", "adamw"), ("adamw_torch_fused", "adamw"), ("adamw_bnb_8bit", "adamw_8bit"),
        ("paged_adamw_8bit", "paged_adamw_8bit"), ("bnb PagedAdamW", "paged_adamw"),
        ("Lion 8-bit", "lion_8bit"), ("GaLore", "galore_adamw"), ("adamw (fp32)", "adamw"),
    ],
)  # fmt: skip
def test_names_of_optimizers(text: str, slug: str) -> None:
    assert find_optimizer(text).slug == slug


def test_an_unknown_optimizer_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="not_one_of"):
        find_optimizer("gradient magic")
    assert all(one.source for one in OPTIMIZERS.values())
