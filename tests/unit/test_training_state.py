"""Weights, gradients and states: bytes per parameter by hand, optimizers, frozen bases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.measurements import load_profile
from gpusizer.core.errors import InvalidRequest
from gpusizer.model.packing import StoredQuantization
from gpusizer.training.frozen import BASE_BYTES
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.optimizers import (
    OPTIMIZERS,
    find_optimizer,
    state_bytes_of_matrix,
    state_bytes_of_rest,
    state_bytes_of_table,
)
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import Matrix
from gpusizer.training.sharding import share_of
from gpusizer.training.stacks import find_stack
from gpusizer.usecases.trainer import bytes_per_parameter

LLAMA = "meta-llama/Llama-2-7b-hf"
PARAMETERS = 6_738_415_616
MATRIX = Matrix("l.{}.mlp.up_proj.weight", 1000, 400, 2, 2.0, False, False, False)


def estimator(model: str = LLAMA) -> TrainingEstimator:
    return TrainingEstimator(load_profile(model))


@pytest.mark.parametrize(
    "changes, total",
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
    plan = TrainingPlan(method="qlora", framework="unsloth", base="nf4")
    assert estimator().state(plan).frozen == inside * 0.5625 + 2 * (outside + norms)
    # torchao's NF4 always quantizes the scales again: 8 bits for 64, FP32 for 256 of those.
    twice = inside * (0.5 + 1 / 64 + 4 / 16_384) + 2 * (outside + norms)
    for base in ("auto", "nf4"):
        torchtune = plan.changed(framework="torchtune", base=base)
        assert estimator().state(torchtune).frozen == twice
    raised = estimator().state(plan.changed(framework="transformers"))
    assert raised.frozen == inside * 0.5625 + 4 * (outside + norms)
    assert BASE_BYTES["nf4-dq"] * 8 == pytest.approx(4.127, abs=5e-4)
    assert BASE_BYTES["int4"] * 8 == pytest.approx(4.156, abs=5e-4)


def test_four_bits_reach_fused_experts_where_the_stack_brings_them() -> None:
    """Qwen3-30B-A3B: 6,144 experts of 3 x 768 x 2,048, one parameter a layer in transformers 5."""
    experts = 6144 * 3 * 768 * 2048
    model = estimator("Qwen/Qwen3-30B-A3B")
    plan = TrainingPlan(method="qlora", base="nf4-dq")
    fused = model.state(plan).frozen
    modules = model.state(plan.changed(framework_version="4.57")).frozen
    assert fused - modules == pytest.approx(experts * (4 - BASE_BYTES["nf4-dq"]))
    unsloth = plan.changed(framework="unsloth")
    known = model.state(unsloth).frozen
    assert known == model.state(unsloth.changed(framework_version="2025.9")).frozen
    assert known < modules


def test_bitsandbytes_quantizes_towers_too() -> None:
    """Llama-3.2-11B-Vision: 4.127 bits for everything but embedding, head, norms and the like."""
    model = estimator("meta-llama/Llama-3.2-11B-Vision-Instruct")
    inside = sum(matrix.parameters for matrix in model.shape.matrices)
    plan = TrainingPlan(method="qlora", framework="unsloth", framework_version="2025.12")
    frozen = model.state(plan).frozen
    assert frozen == inside * BASE_BYTES["nf4-dq"] + 2 * (model.shape.parameters - inside)
    assert sum(m.parameters for m in model.shape.matrices if m.tower) > 0.8e9


def test_a_packed_checkpoint_stays_as_it_is() -> None:
    packed = estimator("Qwen/Qwen-7B-Chat-Int4")
    state = packed.state(TrainingPlan(method="qlora", framework="torchtune"))
    assert state.frozen == packed.profile.weight_bytes


def test_a_native_base_counts_loaded_tensors_only() -> None:
    """GLM-4.5-Air: 220.9 GB stored, 7.2 of them draft layers that transformers does not load."""
    model = estimator("zai-org/GLM-4.5-Air")
    plan = TrainingPlan(method="lora", base="native")
    assert model.state(plan).frozen == 220_937_661_440 - 7_233_147_392
    assert model.state(plan.changed(base="bf16")).frozen == 2 * 106_852_251_264
    mimo = estimator("XiaomiMiMo/MiMo-7B-RL")  # its own code loads them
    for base in ("native", "bf16"):
        assert mimo.state(plan.changed(base=base)).frozen == 15_666_819_072


def test_a_native_base_without_quantization_is_not_treated_as_quantized() -> None:
    """No weight is raised to FP32, expanded, or copied for 4-bit kernels."""
    model = estimator("Qwen/Qwen3-0.6B")  # whose files also hold a second copy of the head
    for framework in ("transformers", "ms-swift"):
        plan = TrainingPlan(method="qlora", base="native", framework=framework)
        assert model.state(plan).frozen == 2 * 596_049_920
        as_lora = plan.changed(method="lora", base="bf16")
        assert model.estimate(plan).total == model.estimate(as_lora).total
    packed = estimator("Qwen/Qwen-7B-Chat-Int4")
    raised = packed.state(TrainingPlan(method="qlora", framework="deepspeed"))
    assert raised.frozen == packed.profile.weight_bytes + 2 * 2 * 151_936 * 4096


@pytest.mark.parametrize(
    "method, raised",
    [
        ("bitsandbytes", True),
        ("awq", True),
        ("compressed-tensors", True),
        ("gptq", False),
        ("aqlm", False),
        ("eetq", False),
        ("hqq", False),
        ("torchao", False),
    ],
)
def test_peft_converts_embedding_and_head_to_fp32(method: str, raised: bool) -> None:
    """Embedding and head of 151,936 x 4,096 in 2 or 4 bytes beside packed layers."""
    profile = load_profile("Qwen/Qwen-7B-Chat-Int4")
    model = TrainingEstimator(replace(profile, quantization=StoredQuantization(method, 4, 128)))
    plan = TrainingPlan(method="qlora", base="native", optimizer="sgd")
    outside = 2 * 151_936 * 4096
    closed, opened = model.state(plan), model.state(plan.changed(train_embeddings=True))
    assert closed.frozen == profile.weight_bytes + (2 * outside if raised else 0)
    assert opened.gradients - closed.gradients == (4 if raised else 2) * outside
    never = model.state(plan.changed(framework="torchtune"))
    assert never.frozen == profile.weight_bytes


def test_a_named_base_is_of_the_method_that_makes_it() -> None:
    """Weights beside GPTQ matrices stay in 16 bits, beside NF4 and LLM.int8 they become FP32.

    For frameworks that only name 4 bits, FP32 is assumed.
    """
    outside, norms = 2 * 32000 * 4096, (2 * 32 + 1) * 4096
    inside = PARAMETERS - outside - norms

    def frozen(base: str, framework: str) -> float:
        return estimator().state(TrainingPlan(base=base, framework=framework)).frozen

    for base, wide_bytes in (("int4", 2), ("int8", 4), ("nf4", 4), ("nf4-dq", 4)):
        expected = inside * BASE_BYTES[base] + wide_bytes * (outside + norms)
        assert frozen(base, "transformers") == expected
    as_if = inside * BASE_BYTES["int4"] + 4 * (outside + norms)
    assert frozen("int4", "deepspeed") == frozen("int4", "ms-swift") == as_if


def test_a_quantized_base_is_the_same_by_either_name() -> None:
    plan = TrainingPlan(method="qlora", base="nf4", framework="litgpt")
    lora_on_named_base = estimator().estimate(plan.changed(method="lora"))
    assert lora_on_named_base == estimator().estimate(plan)


def test_a_head_of_its_own_is_counted_with_its_bytes() -> None:
    """LitGPT copies a tied head: 151,936 x 1,024 more parameters, frozen, trained or gathered."""
    model, copy = estimator("Qwen/Qwen3-0.6B"), 151_936 * 1024
    plan = TrainingPlan(method="lora", framework="litgpt")
    state = model.state(plan)
    assert state.frozen_parameters == 596_049_920 + copy
    assert state.frozen == 2 * state.frozen_parameters
    assert bytes_per_parameter(model, plan).frozen == 2
    opened = plan.changed(train_embeddings=True)
    assert bytes_per_parameter(model, opened).frozen == 2
    full = plan.changed(method="full", gpus=8, sharding="fsdp")
    assert model.state(full).trainable == 596_049_920 + copy
    tied = full.changed(framework="torchtune")
    gathered = [
        share_of(model.state(p), shape, p, find_stack(p.framework)).gathered
        for p, shape in ((full, model.shape.untied()), (tied, model.shape))
    ]
    assert gathered[0] - gathered[1] == 2 * copy


def test_embeddings_beside_adapters_are_trained_in_full() -> None:
    plan = TrainingPlan(method="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"))
    opened = estimator().state(plan.changed(train_embeddings=True))
    assert opened.trainable == 4_194_304 + 2 * 32000 * 4096
    magnitudes = estimator().state(plan.changed(method="dora")).trainable - 4_194_304
    assert magnitudes == 2 * 4096 * 32  # one for every row of q and v


def test_opened_matrices_keep_their_own_width() -> None:
    """Trainer: adapters in FP32 with 16 bytes, embedding and head in BF16 with 8."""
    plan = TrainingPlan(method="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"), ema=True)
    state = estimator().state(plan.changed(train_embeddings=True))
    new, old = 4_194_304, 2 * 32000 * 4096
    assert state.trained == state.gradients == 4 * new + 2 * old
    assert state.optimizer == 2 * (4 * new + 2 * old)
    assert state.ema == 4 * (new + old)
    copied = estimator().state(plan.changed(train_embeddings=True, precision="master"))
    assert (copied.masters, copied.optimizer) == (4 * old, 2 * 4 * (new + old))


def test_opened_matrices_that_were_raised_are_trained_in_fp32() -> None:
    """prepare_model_for_kbit_training raises them before PEFT copies them (modules_to_save)."""
    plan = TrainingPlan(method="qlora", framework="transformers", optimizer="sgd")
    closed = estimator().state(plan)
    opened = estimator().state(plan.changed(train_embeddings=True))
    outside = 2 * 32000 * 4096
    assert opened.weights == closed.weights
    assert opened.gradients == closed.gradients + 4 * outside
    plan = plan.changed(framework="torchtune")  # leaves them in 16 bits
    closed = estimator().state(plan)
    opened = estimator().state(plan.changed(train_embeddings=True))
    assert opened.weights == closed.weights
    assert opened.gradients == closed.gradients + 2 * outside


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
    assert state_bytes_of_table(OPTIMIZERS["adafactor"], 32000 * 4096, 4096, 2) == 4 * 36096
    assert state_bytes_of_table(OPTIMIZERS["adafactor"], 0, 4096, 2) == 0
    assert state_bytes_of_table(OPTIMIZERS["galore_adamw"], 100, 10, 2) == 400
    assert state_bytes_of_rest(OPTIMIZERS["muon"], 100, 4) == 800
    assert state_bytes_of_rest(OPTIMIZERS["lion"], 100, 2) == 200


def test_adafactor_factors_adapters_too() -> None:
    """Both matrices have a row and a column in FP32: 8 x 4096 and 4096 x 8, on q and v of 32
    layers.

    A magnitude of DoRA is a vector, whose means are whole; Muon leaves it to AdamW.
    """
    plan = TrainingPlan(method="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"))
    factored = plan.changed(optimizer="adafactor")
    each = (8 + 4096) + (4096 + 8)
    assert estimator().state(factored).optimizer == 4 * each * 2 * 32
    dora = estimator().state(factored.changed(method="dora")).optimizer
    assert dora == 4 * (each + 4096) * 2 * 32
    head = estimator().state(factored.changed(lora_targets=("q_proj", "head"))).optimizer
    assert head == 4 * (each * 32 + (8 + 4096) + (32_000 + 8))
    muon = estimator().state(plan.changed(optimizer="muon", method="dora")).optimizer
    assert muon == 4 * (8 * 2 * 4096 + 2 * 4096) * 2 * 32


@pytest.mark.parametrize("optimizer", ["adamw", "adamw_8bit", "lion", "galore_adamw", "sgd"])
def test_other_optimizers_remember_the_same_of_every_adapter_parameter(optimizer: str) -> None:
    plan = TrainingPlan(method="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"))
    rule = OPTIMIZERS[optimizer]
    expected = rule.states * (rule.state_bytes or 4) * 4_194_304
    assert estimator().state(plan.changed(optimizer=optimizer)).optimizer == expected


@pytest.mark.parametrize(
    "text, slug",
    [
        ("AdamW", "adamw"),
        ("adamw_torch_fused", "adamw"),
        ("adamw_bnb_8bit", "adamw_8bit"),
        ("paged_adamw_8bit", "paged_adamw_8bit"),
        ("bnb PagedAdamW", "paged_adamw"),
        ("Lion 8-bit", "lion_8bit"),
        ("GaLore", "galore_adamw"),
        ("adamw (fp32)", "adamw"),
    ],
)
def test_names_of_optimizers(text: str, slug: str) -> None:
    assert find_optimizer(text).slug == slug


def test_an_unknown_optimizer_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="not_one_of"):
        find_optimizer("gradient magic")
    assert all(optimizer.source for optimizer in OPTIMIZERS.values())
