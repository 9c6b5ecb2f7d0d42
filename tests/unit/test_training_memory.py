"""The peak of one GPU: its three moments, sharding, offload; nothing more ever needs less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.measurements import load_profile
from gpusizer.model.packing import StoredQuantization
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.sharding import adds_up_whole
from gpusizer.training.stacks import find_stack
from tests.training_cases import GIB, PLAN, of, share_on


def test_the_loss_decides_where_the_vocabulary_is_large() -> None:
    """8,192 tokens: 12 bytes of 128,256 logits each, a vector of 4,096 for each of 32 layers."""
    plan = TrainingPlan(
        method="lora",
        lora_rank=8,
        lora_targets=("q_proj",),
        sequence_length=8192,
        packed=True,
    )
    memory = of().estimate(plan)
    assert memory.phase == "loss"
    assert memory.logits.likely == 8192 * 128_256 * 12
    assert memory.activations.likely == 8192 * 32 * 4096 * 2
    assert memory.weights.likely == 2 * 8_030_261_248 + 4 * 8 * 8192 * 32
    assert memory.context.likely == int(0.6 * GIB)
    assert memory.reserve.likely == round(0.06 * (memory.logits.likely + memory.activations.likely))
    fused = of().estimate(plan.changed(fused_loss=True))
    assert fused.logits.likely in (0, round(8192 * 128_256 * 0.5))


def test_the_update_decides_for_short_sequences() -> None:
    """Everything in BF16: weights, gradients, two states, and one temporary of foreach."""
    memory = of().estimate(PLAN.changed(sequence_length=128))
    assert memory.phase == "update"
    assert memory.allocated.likely == 5 * 2 * 8_030_261_248
    in_backward = of().estimate(PLAN.changed(sequence_length=128, optimizer_in_backward=True))
    assert in_backward.allocated.likely == 6 * 8_030_261_248 + 4 * 2 * 128_256 * 4096
    # torchtune's recipe for one GPU with paged states: 18.9 GiB measured.
    paged = PLAN.changed(sequence_length=128, optimizer_in_backward=True, optimizer="paged_adamw")
    assert of().estimate(paged).allocated.likely == pytest.approx(18.87 * GIB, rel=0.001)


def test_gradients_stayed_before_pytorch_two() -> None:
    """zero_grad filled 2 x 8,030,261,248 bytes with zeros; they are there at the loss."""
    plan = TrainingPlan(method="full", gradient_checkpointing="none", sequence_length=16_384)
    now, then = (
        of().estimate(plan.changed(framework_version=version)) for version in ("4.30", "4.26")
    )
    assert now.phase == then.phase == "loss"
    assert then.gradients.likely - now.gradients.likely == 2 * 8_030_261_248


def test_loading_can_be_the_peak() -> None:
    """Beside 4-bit weights the largest matrix waits in 16 bits: 2 x 4,096 x 14,336 bytes."""
    plan = TrainingPlan(method="qlora", base="nf4", framework_version="4.57")
    plan = plan.changed(sequence_length=1, lora_rank=1, lora_targets=("k_proj",))
    memory = of().estimate(plan)
    largest = 2 * 4096 * 14_336
    assert memory.loading.likely == memory.loading.high == memory.weights.likely + largest
    wide = plan.changed(framework="unsloth", framework_version="")  # reads four layers ahead
    loading, weights = of().estimate(wide).loading, of().estimate(wide).weights
    layer = sum(matrix.parameters for matrix in of().shape.matrices) / 32
    assert loading.high - weights.high == 2 * 4 * layer
    whole = of().estimate(plan.changed(method="lora", base="auto"))
    assert whole.loading == whole.weights
    fused = of("openai/gpt-oss-20b").estimate(wide.changed(lora_targets=("q_proj",)))
    assert fused.phase == "loading"  # 32 experts of 5,760 x 2,880 are one parameter
    assert fused.buffers.likely == pytest.approx(2 * 32 * 5760 * 2880, rel=0.01)


def test_quantizing_at_load_can_leave_holes() -> None:
    """0.3 bytes of each of 8,030,261,248 parameters, at the high end alone."""
    plan = TrainingPlan(method="qlora", base="nf4")
    loaded, native = of().estimate(plan), of().estimate(plan.changed(base="int4"))
    more = loaded.reserve.high - 2 * loaded.reserve.likely
    rest = more - 0.3 * 8_030_261_248
    assert 0 < rest < 0.1 * loaded.allocated.likely
    assert native.reserve.high - 2 * native.reserve.likely < 0.1 * native.allocated.likely


def test_a_plain_name_may_load_a_dynamic_repository() -> None:
    plan = TrainingPlan(method="qlora", framework="unsloth")
    weights = of().estimate(plan).weights
    assert weights.high == pytest.approx(1.14 * weights.likely, abs=1)
    before = of().estimate(plan.changed(framework_version="2024.10")).weights
    rotary = 32 * 2 * 32_768 * 128 * 2  # of the layers of that year
    assert before.high == before.likely == weights.likely + rotary


@pytest.mark.parametrize(
    "model, wide_parameters, file_bytes",
    [
        # model.layers.1.mlp stays wide
        ("meta-llama/Llama-3.1-8B-Instruct", 3 * 4096 * 14_336, 5_964_185_481),
        # the MLPs of layers 2, 3 and 30
        ("Qwen/Qwen2.5-3B-Instruct", 9 * 2048 * 11_008, 2_355_738_764),
    ],
)
def test_a_known_dynamic_repository_has_the_bytes_of_its_file(
    model: str, wide_parameters: int, file_bytes: int
) -> None:
    """Its `llm_int8_skip_modules` cost 2 bytes in place of 0.516; the rest is as in a plain one."""
    plan = TrainingPlan(method="qlora", framework="unsloth", lora_rank=8)
    weights = of(model).estimate(plan).weights
    plain = of(model).estimate(plan.changed(framework="axolotl")).weights
    adapters = 4 * of(model).state(plan).trainable
    assert weights.low == weights.high == file_bytes + adapters
    more = wide_parameters * (2 - 0.5 - 1 / 64 - 4 / (64 * 256))
    assert weights.likely - plain.likely == pytest.approx(more, rel=0.01)
    trained = of(model).estimate(plan.changed(train_embeddings=True)).weights
    assert trained.likely == weights.likely  # embedding and head are trained in 16 bits instead
    assert of(model).estimate(plan).loading == weights  # nothing is quantized while it is loaded


def test_unsloth_leaves_towers_wide_since_february_2026() -> None:
    """gemma-3n-E4B's audio tower: 681,050,112 parameters of 2 bytes in place of 0.516, and of its
    projectors, 2,048 x 2,048 and 1,536 x 2,048, since June."""
    plan = TrainingPlan(method="qlora", framework="unsloth", lora_rank=8)
    now, spring, before = (
        of("google/gemma-3n-E4B-it").estimate(plan.changed(framework_version=version))
        for version in ("", "2026.4", "2025.12")
    )
    more = 2 - 0.5 - 1 / 64 - 4 / (64 * 256)
    towers = 681_050_112 * more
    projectors = 2048 * (2048 + 1536) * more
    assert spring.weights.likely - before.weights.likely == pytest.approx(towers, rel=1e-6)
    assert now.weights.likely - spring.weights.likely == pytest.approx(projectors, rel=1e-6)


@pytest.mark.parametrize(
    "model, version, cache_bytes",
    [
        ("meta-llama/Llama-3.1-8B", "2024.6", 32 * 2 * 131_072 * 128 * 2),
        ("meta-llama/Llama-3.1-8B", "2024-07-17", 32 * 2 * 131_072 * 128 * 2),
        ("meta-llama/Llama-3.1-8B", "2024.7", 32 * 2 * 32_768 * 128 * 2),  # 18 July and later
        ("meta-llama/Llama-3.1-8B", "2024.10", 32 * 2 * 32_768 * 128 * 2),
        ("meta-llama/Llama-3.1-8B", "2024.12", 32 * 2 * 32_768 * 128 * 2),
        ("meta-llama/Llama-3.1-8B", "2025.1.5", 0),
        ("google/gemma-2-9b", "2024.8", 42 * 2 * 8192 * 256 * 4),
        ("google/gemma-2-9b", "", 0),
    ],
)
def test_layers_of_unsloth_of_2024_have_rotary_positions_each(
    model: str, version: str, cache_bytes: int
) -> None:
    plan = TrainingPlan(method="qlora", framework="unsloth", framework_version=version)
    weights = of(model).estimate(plan).weights.likely
    other = plan.changed(framework="axolotl", framework_version="2024")  # NF4, quantized twice
    assert weights - of(model).estimate(other).weights.likely == pytest.approx(cache_bytes, abs=2)
    longer = of(model).estimate(plan.changed(sequence_length=49_152)).weights.likely
    grows = cache_bytes == 32 * 2 * 32_768 * 128 * 2  # by steps, where the model knows more
    assert longer - weights == pytest.approx(cache_bytes / 2 if grows else 0, abs=2)


def test_the_backward_pass_begins_with_all_that_was_kept() -> None:
    """Cut cross-entropy: 32 vectors of 4,096 for each of 8,192 tokens, and one layer of 32."""
    plan = TrainingPlan(
        framework="axolotl", fused_loss=True, sequence_length=8192, lora_targets=("q_proj",)
    )
    memory = of().estimate(plan)
    assert memory.phase == "backward"
    assert memory.gradients.likely == 0
    layer = of().estimate(plan.changed(offload="activations")).activations.likely - 2 * 8192 * 8192
    assert memory.activations.likely == 32 * 8192 * 8192 + layer
    assert layer > 8192 * 2 * (2 * 4096 + 2 * 1024 + 3 * 14_336)


def test_a_loss_divided_over_tensor_parallel_gpus_holds_five_copies() -> None:
    """2 + 5 x 4 bytes of a logit, an eighth of the vocabulary on each GPU."""
    plan = TrainingPlan(
        method="full", sharding="fsdp", gpus=8, tensor_parallel=8, framework="torchtitan"
    )
    memory = of().estimate(plan.changed(sequence_length=65_536, compiled=True))
    assert memory.phase == "loss"
    assert memory.logits.likely == 65_536 * 128_256 * 22 // 8


def test_accumulated_gradients_are_there_at_the_loss() -> None:
    plan = PLAN.changed(sequence_length=65536, packed=True)
    once, several = (of().estimate(plan.changed(gradient_accumulation=n)) for n in (1, 4))
    assert once.phase == several.phase == "loss"
    assert several.gradients.likely - once.gradients.likely == 2 * 8_030_261_248


def test_zero_one_adds_up_whole_gradients_and_updates_with_its_share() -> None:
    """Master precision: 4 bytes of gradients; each of four GPUs updates a quarter."""
    whole = 4 * 8_030_261_248
    plan = TrainingPlan(method="full", precision="master", sharding="zero1", gpus=4)
    for steps in (1, 8):
        share = share_on(plan.changed(gradient_accumulation=steps), of().state(plan))
        assert (share.gradients, share.updated) == (whole, whole / 4)
    long = plan.changed(sequence_length=65536, packed=True, gradient_accumulation=8)
    memory = of().estimate(long)
    assert (memory.phase, memory.gradients.likely) == ("loss", whole)
    divided = of().estimate(long.changed(sharding="zero2"))
    assert divided.gradients.likely == whole / 4
    short = of().estimate(plan.changed(sequence_length=128))
    assert short.phase == "backward"  # the update holds a quarter of the gradients, twice


def test_an_update_converts_the_gradients_of_its_share() -> None:
    """4 bytes of a quarter of them, tensor parallel of an eighth; an average is not updated so."""
    plan = TrainingPlan(
        method="full", precision="master", sharding="zero2", gpus=4, sequence_length=128
    )
    for kind, parts in ((plan, 4), (plan.changed(gpus=8, tensor_parallel=2), 8)):
        for ema in (False, True):
            memory = of().estimate(kind.changed(ema=ema))
            assert memory.phase == "update"
            assert memory.buffers.likely == 4 * 8_030_261_248 // parts


def test_trainer_adds_up_whole_gradients_under_fsdp() -> None:
    """16 bits of every gradient in accelerator.no_sync; FP32 of a part where they are divided."""
    plan = TrainingPlan(method="full", precision="mixed", sharding="fsdp", gpus=8)
    part, whole = 4 * 8_030_261_248 / 8, 2 * 8_030_261_248

    def held_bytes(**changes: Any) -> tuple[float, float]:
        changed = plan.changed(**changes)
        share = share_on(changed)
        return share.gradients, share.updated

    assert held_bytes() == (part, part)
    assert held_bytes(gradient_accumulation=4) == (whole, part)
    assert held_bytes(gradient_accumulation=4, framework="torchtitan") == (part, part)
    assert held_bytes(gradient_accumulation=4, offload="all") == (0, 0)


def test_accumulation_depends_on_the_given_stack() -> None:
    """The stack that is passed decides, not the one that the plan names."""
    plan = TrainingPlan(sharding="fsdp", gpus=8, gradient_accumulation=4)
    trainer = find_stack(plan.framework)
    assert adds_up_whole(plan, trainer)
    assert not adds_up_whole(plan, replace(trainer, no_sync=False))
    assert adds_up_whole(plan, replace(trainer, no_sync=None))  # not known: the larger need


def test_gptq_keeps_a_layer_expanded() -> None:
    """16 bits of 4096 x (12288 + 4096) and 3 x 4096 x 11008; AWQ: the largest matrix alone."""
    plan = TrainingPlan(method="qlora", packed=True)
    profile = load_profile("Qwen/Qwen-7B-Chat-Int4")
    gptq = TrainingEstimator(profile).estimate(plan)
    awq = TrainingEstimator(replace(profile, quantization=StoredQuantization("awq", 4, 128)))
    layer = 4096 * (12_288 + 4096) + 3 * 4096 * 11_008
    assert gptq.buffers.likely == 2 * layer
    assert awq.estimate(plan).buffers.likely == 2 * 4096 * 12_288
    raised = 2 * 2 * 151_936 * 4096
    assert awq.estimate(plan).weights.likely - gptq.weights.likely == raised
    # If weights count as raised to FP32, that amount covers the expanded layer, too.
    as_if = TrainingEstimator(profile).estimate(plan.changed(framework="deepspeed"))
    assert as_if.buffers.likely == 2 * 4096 * 12_288


def test_varying_lengths_reserve_reclaimable_memory() -> None:
    """Twice the 18 bytes of each logit and one layer, not its scores; unsaid, nothing.

    At twice 2,048 tokens it is less by a factor of 2 ** 0.2.
    """
    plan = TrainingPlan(sequence_length=4096, packed=True, framework="ms-swift")
    packed, varied = (of().estimate(plan.changed(packed=p)) for p in (True, False))
    more = varied.total.likely - packed.total.likely
    assert abs(0.95 * more - varied.reclaimable.likely) <= 1
    more_than_logits = more / 2 * 2**0.2 - 4096 * 128_256 * 18
    once, twice = (
        of().estimate(plan.changed(gradient_checkpointing="none", packed=True, sequence_length=n))
        for n in (4096, 8192)
    )
    layer = (twice.activations.likely - once.activations.likely) / 32
    gradients = 2 * 4096 * 2 * 14_336  # of the gated MLP's two first results
    assert more_than_logits == pytest.approx(layer + gradients, rel=0.001)
    eager = of().estimate(plan.changed(packed=False, flash_attention=False))
    assert eager.reclaimable.likely == varied.reclaimable.likely
    assert abs(varied.needed.likely - packed.needed.likely - 0.05 * more) <= 1
    assert of().estimate(plan.changed(packed=None)) == packed


def test_what_lengths_leave_has_a_band_and_falls_beyond_lengths_that_are_common() -> None:
    """0.3 to 1.5 times the likely bytes; less a token beyond 2,048 tokens, where 8,192 are four
    times as many: 4 ** 0.8 = 3.03 times the bytes. A twentieth of it stays, 0.15 at most."""
    plan = TrainingPlan(packed=False, framework="ms-swift")
    likely = {}
    for length in (1024, 2048, 8192):
        varied, equal = (
            of().estimate(plan.changed(sequence_length=length, packed=p)) for p in (False, True)
        )
        left = likely[length] = varied.total.likely - equal.total.likely
        assert varied.total.low - equal.total.low == pytest.approx(0.3 * left, abs=2)
        assert varied.total.high - equal.total.high == pytest.approx(1.5 * left, abs=2)
        assert varied.needed.low == equal.needed.low
        assert varied.needed.likely - equal.needed.likely == pytest.approx(0.05 * left, abs=2)
        most = 0.15 * 1.5 * left
        assert varied.needed.high - equal.needed.high == pytest.approx(most, abs=2)
    assert likely[2048] == pytest.approx(2 * likely[1024])
    assert likely[8192] == pytest.approx(4**0.8 * likely[2048])


def test_segments_that_grow_leave_nothing_behind() -> None:
    """Axolotl (#2183) and Unsloth since March 2024 switch PyTorch's expandable segments on."""
    plan = TrainingPlan(sequence_length=4096, packed=False)
    growing = {"axolotl": "", "unsloth": "2024.10", "torchtitan": "", "axolotl-2025": ""}
    for framework, version in growing.items():
        asked = plan.changed(framework=framework, framework_version=version)
        assert of().estimate(asked).reclaimable.likely == 0
    for framework, version in {"unsloth": "2024.3", "litgpt": "", "transformers": ""}.items():
        asked = plan.changed(framework=framework, framework_version=version)
        assert of().estimate(asked).reclaimable.likely > 0


def test_what_lengths_leave_behind_takes_no_more_than_the_card_has() -> None:
    plan = TrainingPlan(sequence_length=4096, packed=False, micro_batch=4)
    memory = of().estimate(plan)
    card = memory.needed.likely + 3 * GIB
    assert memory.reclaimable.likely > 3 * GIB
    assert memory.on(card).total.likely == card
    assert memory.on(card).needed == memory.needed


def test_logits_that_code_leaves_in_16_bits_cost_twelve_bytes() -> None:
    """Qwen-7B: 2 + 2 for the shifted copy, 4 + 4 for the loss, where Llama-2 has 18 until 2025."""
    plan = TrainingPlan(framework="transformers", framework_version="2024", packed=True)
    plan = plan.changed(sequence_length=8192)
    qwen, llama = of("Qwen/Qwen-7B-Chat").estimate(plan), of().estimate(plan)
    assert (qwen.phase, llama.phase) == ("loss", "loss")
    assert qwen.logits.likely == 8192 * 151_936 * 12
    assert llama.logits.likely == 8192 * 128_256 * 18
    cut = of("Qwen/Qwen-7B-Chat").estimate(plan.changed(fused_loss=True))
    assert cut.logits.likely in (0, 8192 * 151_936 // 2)


def test_a_context_held_all_kernels_before_they_were_loaded_lazily() -> None:
    """1,343 MiB of PyTorch 1 (transformers' guide), 0.6 GiB since
    https://github.com/pytorch/pytorch/pull/86509."""
    plan = TrainingPlan(framework="transformers")
    now, then = (of().estimate(plan.changed(framework_version=v)) for v in ("", "2022"))
    assert now.context.likely == int(0.6 * GIB)
    assert then.context.likely == int(1.31 * GIB) == pytest.approx(1343 * 2**20, rel=0.002)


@pytest.mark.parametrize(
    "framework, version, bytes_each",
    [
        ("transformers", "", 12),
        ("trl", "4.48.3", 18),
        ("transformers", "2025-01", 18),
        ("transformers", "2024", 18),
        ("transformers", "4.49.0", 12),
        ("transformers", "2025-02-17", 12),
    ],
)
def test_logits_of_trainer_by_its_version(framework: str, version: str, bytes_each: int) -> None:
    """Two FP32 copies fewer since transformers PR 35646: 2 + 4 + 4 + 4 + 4 before it."""
    plan = TrainingPlan(
        sequence_length=8192, framework=framework, framework_version=version, method="qlora"
    )
    memory = of().estimate(plan)
    assert memory.phase == "loss"
    assert memory.logits.likely == 8192 * 128_256 * bytes_each
