"""Activations that the forward pass keeps, counted by hand for Llama-3.1-8B and others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.measurements import load_profile
from gpusizer.core.errors import InvalidRequest
from gpusizer.training.activations import kept_by_token
from gpusizer.training.adapters import adapters, targeted
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape, trained_shape
from gpusizer.training.stacks import find_stack, stacks

LLAMA = trained_shape(load_profile("meta-llama/Llama-3.1-8B"))
H, KEYS, F, L = 4096, 1024, 14336, 32
FULL = TrainingPlan(method="full", gradient_checkpointing="none")
LORA = TrainingPlan(method="lora", lora_rank=16)
EAGER = find_stack("transformers")
FUSED = replace(EAGER, eager_norms=False, repeat_keys=False)


def test_the_shape_of_a_dense_model() -> None:
    assert LLAMA.parameters == 8_030_261_248
    assert (LLAMA.layers, LLAMA.hidden, LLAMA.head_width, LLAMA.key_width) == (L, H, H, KEYS)
    assert LLAMA.embedding == LLAMA.output == 128256 * H
    assert LLAMA.largest_matrix == H * F
    assert {m.name for m in LLAMA.matrices if m.last} == {"o_proj", "down_proj"}
    assert not LLAMA.fused_norms


def test_full_training_of_an_eager_model() -> None:
    activations = kept_by_token(LLAMA, FULL, EAGER)
    norms = 2 * L + 1
    assert activations.norms == norms * H * (4 + 2)  # an FP32 input and the 16-bit result
    assert activations.inputs == 2 * L * H * 2  # one for q, k and v, one for gate and up
    assert activations.attention == L * 2 * (
        H + H + 2 * H
    )  # keys and values repeated for every head
    assert activations.mlp == L * 2 * 4 * F  # gate, SiLU of it, up, product
    assert activations.adapters == activations.scores == 0


def test_grouped_keys_and_kernels_keep_less() -> None:
    activations = kept_by_token(LLAMA, FULL, FUSED)
    assert activations.norms == (2 * L + 1) * H * 2
    assert activations.attention == L * 2 * (2 * H + 2 * KEYS)
    compiled = kept_by_token(LLAMA, FULL.changed(compiled=True), EAGER)
    assert compiled.mlp == L * 2 * 3 * F  # the activation function is computed again


def test_frozen_weights_keep_no_inputs() -> None:
    activations = kept_by_token(LLAMA, LORA, EAGER)
    assert activations.inputs == 0
    assert activations.mlp == L * 2 * 3 * F
    # FP32 adapters with dropout: a cast copy and a mask for q, k, v, o, gate, up and down.
    inputs = (6 * H + F) * 5
    assert activations.adapters == L * (inputs + 7 * 4 * 16)
    shared = find_stack("torchtune")  # 16-bit adapters share what q, k, v and gate, up start from
    assert kept_by_token(LLAMA, LORA, shared).adapters == L * (2 * (2 * H + F) + 7 * 2 * 16)


def test_adapters_of_sixteen_bits_cast_nothing() -> None:
    """fsdp_qlora is BF16 throughout: a copy behind dropout and a mask of each adapter's input."""
    kept = kept_by_token(LLAMA, LORA, find_stack("fsdp_qlora")).adapters
    assert kept == L * ((6 * H + F) * (2 + 1) + 7 * 2 * 16)


def test_dora_keeps_two_more_activations_than_lora() -> None:
    lora, dora = (
        kept_by_token(LLAMA, LORA.changed(method=method), EAGER).adapters
        for method in ("lora", "dora")
    )
    assert dora - lora == L * 2 * 2 * (2 * H + 2 * KEYS + 2 * F + H)


def test_attention_without_flash_keeps_scores() -> None:
    activations = kept_by_token(LLAMA, FULL.changed(flash_attention=False), EAGER)
    assert activations.scores == (4 + 2) * 32 * L  # bytes per pair of tokens
    assert activations.scores + activations.working_scores == 16 * 32 * L
    chatglm = trained_shape(load_profile("zai-org/chatglm3-6b"))  # a mask where tokens pad
    assert kept_by_token(chatglm, FULL.changed(packed=True), EAGER).scores == 0
    assert kept_by_token(chatglm, FULL, EAGER).scores == 6 * 32 * 28
    assert kept_by_token(chatglm, FULL.changed(context_parallel=2), EAGER).scores == 0
    wide = kept_by_token(LLAMA, FULL.changed(flash_attention=False, precision="fp32"), EAGER)
    assert wide.scores == (4 + 4 + 1) * 32 * L
    assert activations.per_token(100) - activations.per_token(0) == 100 * activations.scores


def test_activations_of_a_mixture_count_the_chosen_experts() -> None:
    shape = trained_shape(load_profile("openai/gpt-oss-20b"))
    activations = kept_by_token(shape, FULL, FUSED)
    inner = 4 * 2880 * 24  # four of 32 experts in 24 layers
    assert activations.mlp == 2 * (2 * inner + inner + inner)
    assert sum(m.parameters for m in shape.matrices if m.expert) == 24 * 32 * 3 * 2880 * 2880


def test_norms_with_a_bias_are_one_kernel() -> None:
    phi = trained_shape(load_profile("microsoft/phi-2"))
    assert phi.fused_norms
    assert kept_by_token(phi, FULL, EAGER).norms == 33 * 2560 * 2


def test_encoders_and_decoders_both_count() -> None:
    t5 = trained_shape(load_profile("bigscience/T0_3B"))
    assert t5.layers == 48
    assert kept_by_token(t5, FULL, EAGER).attention == 72 * 2 * 4 * 2048  # and cross attention


def test_a_pipeline_trains_its_denoiser_alone() -> None:
    flux = trained_shape(load_profile("black-forest-labs/FLUX.1-dev"))
    assert flux.parameters == 11_901_408_320
    assert flux.beside == 123_060_480 + 4_762_310_656 + 83_819_683


def test_a_fused_matrix_is_found_by_the_names_of_its_parts() -> None:
    qwen = trained_shape(load_profile("Qwen/Qwen-7B"))
    assert [m.name for m in targeted(qwen, ["q", "v"])] == ["c_attn"]
    by_tool = targeted(qwen, ["c_attn", "c_proj", "w1", "w2"])
    assert len(by_tool) == 5  # c_proj is in attention and in the MLP
    assert len(targeted(qwen, ["all-linear"])) == 5

    def parameters(targets: list[str]) -> int:
        return sum(matrix.parameters for matrix in adapters(qwen, targets, 8))

    assert parameters(["c_attn"]) == 8 * (4096 + 3 * 4096) * 32
    assert parameters(["head"]) == 8 * (4096 + 151_936)


def test_expert_adapters_only_when_requested() -> None:
    shape = trained_shape(load_profile("openai/gpt-oss-20b"))
    assert {m.name for m in targeted(shape, ["all-linear"])} == {
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
    }
    assert any(m.expert for m in targeted(shape, ["all-experts"]))


def counted(model: str, targets: list[str], rank: int, on_towers: bool | None = None) -> int:
    shape = trained_shape(load_profile(model))
    return sum(matrix.parameters for matrix in adapters(shape, targets, rank, on_towers))


SEVEN = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def test_names_are_whole_names() -> None:
    """Counts that Unsloth printed (unslothai/notebooks): PEFT passes over names a model lacks."""
    assert counted("LiquidAI/LFM2-1.2B", SEVEN, 16) == 884_736  # q, k and v of 6 layers alone
    assert counted("openai/gpt-oss-20b", SEVEN, 8) == 3_981_312  # no module inside fused experts
    tower = "meta-llama/Llama-3.2-11B-Vision-Instruct"
    assert counted(tower, SEVEN, 16, on_towers=True) == 67_174_400
    assert counted(tower, SEVEN, 16, on_towers=False) == 52_428_800
    # PEFT itself goes by name: q, k, v and o of 40 blocks 1,280 wide, not fc1 and fc2.
    assert counted(tower, SEVEN, 16) == 52_428_800 + 40 * 4 * 16 * 2 * 1280


def test_experts_that_are_modules_have_adapters() -> None:
    """Qwen3-30B-A3B: 6,144 experts of 768 x 2,048 beside attention, in transformers 4."""
    modules = trained_shape(load_profile("Qwen/Qwen3-30B-A3B"))
    fused = modules.with_fused_experts(0, stored=False)
    inside = 6144 * 16 * 3 * (768 + 2048)

    def parameters(shape: TrainedShape, targets: list[str]) -> int:
        return sum(matrix.parameters for matrix in adapters(shape, targets, 16))

    for targets in (["all-linear"], SEVEN):
        assert parameters(modules, targets) - parameters(fused, targets) == inside
    assert parameters(fused, ["all-experts"]) == parameters(modules, ["all-linear"])
    # Fused, gate and up are 1,536 x 2,048 with one adapter: of rank 32 by PEFT, 16 by Unsloth.
    attention = parameters(fused, SEVEN)
    for factor in (2, 1):
        rank = 16 * factor
        named = modules.with_fused_experts(factor, stored=False)
        gate_up, down = rank * (2 * 768 + 2048), 16 * (768 + 2048)
        assert parameters(named, SEVEN) - attention == 6144 * (gate_up + down)
        assert parameters(named, ["all-linear"]) == attention


def test_names_reach_stored_experts_in_unsloth_alone() -> None:
    """Gemma-4-26B-A4B: 128 experts of 704 in each of 30 layers, in one parameter in its files."""
    gemma = trained_shape(load_profile("google/gemma-4-26B-A4B-it"))
    experts = {m.name for m in gemma.matrices if m.expert}
    assert experts == {"gate_up_proj", "down_proj"}
    for stored in (False, True):
        shape = gemma.with_fused_experts(1, stored=stored)
        found = {m.name for m in targeted(shape, SEVEN) if m.expert}
        assert found == (experts if stored else set())


def test_an_unknown_target_names_what_there_is() -> None:
    with pytest.raises(InvalidRequest) as caught:
        targeted(LLAMA, ["wizard_proj"])
    assert "q_proj" in str(caught.value.fields["choices"])


def test_frameworks_by_the_names_people_give_them() -> None:
    assert find_stack("LitGPT").slug == "litgpt"
    assert find_stack("Qwen finetune.py (HF Trainer+DeepSpeed+PEFT)").slug == "deepspeed"
    assert find_stack("HF PEFT + Transformers").slug == "transformers"
    assert all(stack.source for stack in stacks().values())
    with pytest.raises(InvalidRequest):
        find_stack("abacus")
